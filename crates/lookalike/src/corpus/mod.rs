//! Where documents come from: bytes in, text out.
