//! Accepts connections within limits, serves them, and shuts down gracefully.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::connection::{Connection, StreamingFlag};
use super::edge;
use super::open_counts::{OpenCounts, OpenGuard};
use super::request_head::RequestHeads;
use crate::web::app::App;

/// The time within which a complete request head must arrive.
const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum size of a request head, in bytes.
pub(super) const MAX_HEADER_BYTES: usize = 32 * 1024;
/// The maximum number of headers.
const MAX_HEADERS: usize = 100;
/// How long a graceful shutdown waits for running requests.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(30);

/// An open connection. Dropping it makes room for another.
struct ConnectionGuard {
    app: App,
    _open: OpenGuard<IpAddr>,
}

impl ConnectionGuard {
    /// Registers a connection, unless there are too many in total or from this address.
    fn acquire(open: &Arc<OpenCounts<IpAddr>>, app: &App, address: IpAddr) -> Option<Self> {
        let address = address.to_canonical();
        let proxy = app.config.trusted_proxies.iter().any(|net| net.contains(&address));
        let guard = open.open(address, |from_address, total| {
            let over_limit = !proxy && from_address >= app.config.max_connections_per_address.get();
            let is_full = total >= app.config.max_connections.get() || over_limit;
            if is_full { Err(()) } else { Ok(()) }
        });
        let Ok(open) = guard else {
            app.metrics.connections_refused.inc();
            return None;
        };
        app.metrics.connections.inc();
        Some(Self { app: app.clone(), _open: open })
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.app.metrics.connections.dec();
    }
}

/// Serves until `stop` turns `true`, then waits for running requests.
pub async fn serve(
    listener: TcpListener,
    app: App,
    router: Router,
    mut stop: watch::Receiver<bool>,
) {
    let open = Arc::default();
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let (stream, peer) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // For instance out of file descriptors: wait a moment and try again.
                    tracing::warn!(%error, "could not accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
            () = stop_requested(&mut stop) => break,
            Some(_) = connections.join_next() => continue,
        };
        if let Some(guard) = ConnectionGuard::acquire(&open, &app, peer.ip()) {
            connections.spawn(serve_connection(stream, peer, guard, router.clone(), stop.clone()));
        }
    }
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(SHUTDOWN_TIMEOUT, drained).await.is_err() {
        tracing::warn!("requests were still running after 30 seconds and were aborted");
    }
}

/// Waits until the service is asked to stop.
pub async fn stop_requested(stop: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone, which also means to stop.
    let _ = stop.wait_for(|stop| *stop).await;
}

async fn serve_connection(
    stream: TcpStream,
    peer: SocketAddr,
    guard: ConnectionGuard,
    router: Router,
    mut stop: watch::Receiver<bool>,
) {
    // Small responses must not wait for more data.
    let _ = stream.set_nodelay(true);
    let (heads, streaming) = (RequestHeads::default(), StreamingFlag::default());
    let io = Connection::new(stream, guard.app.clone(), heads.clone(), streaming.clone());
    let service = service_fn(|mut request: Request<Incoming>| {
        streaming.clear();
        request.extensions_mut().insert(streaming.clone());
        if let Some(fault) = heads.next_fault() {
            request.extensions_mut().insert(fault);
        }
        let (app, router) = (&guard.app, &router);
        async move {
            Ok::<_, Infallible>(edge::handle(app, router, request.map(Body::new), peer.ip()).await)
        }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_READ_TIMEOUT)
        .half_close(true)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEADER_BYTES)
        .serve_connection(TokioIo::new(io), service);
    tokio::pin!(served);
    tokio::select! {
        // Disconnects and protocol errors of the client are not logged.
        _ = served.as_mut() => return,
        () = stop_requested(&mut stop) => served.as_mut().graceful_shutdown(),
    }
    let _ = served.await;
}
