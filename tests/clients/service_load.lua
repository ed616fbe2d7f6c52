-- wrk posts the lines of a file one after another, and tells its latencies as JSON.
local requests, at = {}, 0

function init()
   for line in io.lines(os.getenv("LOAD_BODIES")) do
      requests[#requests + 1] = wrk.format("POST", "/api/v1/find", nil, line)
   end
end

function request()
   at = at % #requests + 1
   return requests[at]
end

function done(summary, latency)
   io.write(string.format('\n{"requests": %d, "seconds": %.3f, "p50": %.3f, "p99": %.3f, "max": %.3f, "broken": %d}\n',
      summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
      latency.max / 1e3, summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout))
end
