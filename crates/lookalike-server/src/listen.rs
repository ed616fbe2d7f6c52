//! Connections: how many, how long, and how they end.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// A head that takes longer is not waited for, nor is the next request of a connection.
const HEAD: Duration = Duration::from_secs(15);

/// Connections at once; more wait to be accepted.
const CONNECTIONS: usize = 1024;

/// How long requests under way may still take when the service stops.
const LAST: Duration = Duration::from_secs(10);

/// Ends when the process is told to stop, by SIGINT or SIGTERM.
pub(crate) fn stop() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Serves connections until `stop` ends, then lets those under way finish.
pub(crate) async fn accept(socket: TcpListener, router: Router, stop: impl Future<Output = ()>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let graceful = GracefulShutdown::new();
    let mut builder = http1::Builder::new();
    // Without a timer the time-out of heads would do nothing.
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD);
    builder.max_buf_size(64 << 10);
    tokio::pin!(stop);
    loop {
        let connection = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (socket.accept().await, place)
        };
        let (accepted, place) = tokio::select! {
            next = connection => next,
            () = &mut stop => break,
        };
        let Ok((stream, _)) = accepted else {
            // Out of descriptors, most likely: those that end give some back.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        // Small answers should not wait for more to send.
        let _ = stream.set_nodelay(true);
        give_up_on_stalled(&stream);
        let service = TowerToHyperService::new(router.clone());
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // What breaks off is the client's to know.
            let _ = connection.await;
            drop(place);
        });
    }
    drop(socket);
    let _ = tokio::time::timeout(LAST, graceful.shutdown()).await;
}

/// A client that takes nothing of its answer is dropped by the system.
fn give_up_on_stalled(stream: &tokio::net::TcpStream) {
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::net::sockopt::set_tcp_user_timeout(stream, 30_000);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = stream;
}
