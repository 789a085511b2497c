//! Listens, accepts within bounds, serves each connection, and stops without losing what it took.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
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

use super::edge;
use super::request_head::RequestHeads;
use super::wire::{Endless, Wire};
use crate::app::App;

/// Without a whole header block after this time, the connection is closed.
const HEADERS_WITHIN: Duration = Duration::from_secs(10);
/// The largest header block.
pub(super) const MAX_HEADER_BYTES: usize = 32 * 1024;
/// The most headers.
const MAX_HEADERS: usize = 100;
/// How long a stopping server waits for requests that are under way.
const DRAIN: Duration = Duration::from_secs(30);

/// The open connections, by client address.
#[derive(Debug, Default)]
struct Doors {
    open: Mutex<HashMap<IpAddr, usize>>,
}

/// An open connection's place, given back when it closes.
struct Door {
    app: App,
    doors: Arc<Doors>,
    address: IpAddr,
}

impl Doors {
    /// A place for a connection, unless there are too many in all or from this address.
    fn enter(self: &Arc<Self>, app: &App, address: IpAddr) -> Option<Door> {
        let address = address.to_canonical();
        let proxy = app.config.trusted_proxies.iter().any(|net| net.contains(&address));
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let total: usize = open.values().sum();
        let here = open.get(&address).copied().unwrap_or(0);
        let crowded = !proxy && here >= app.config.max_connections_per_address.get();
        if total >= app.config.max_connections.get() || crowded {
            app.metrics.connections_refused.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        open.insert(address, here + 1);
        app.metrics.connections.fetch_add(1, Ordering::Relaxed);
        drop(open);
        Some(Door { app: app.clone(), doors: self.clone(), address })
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.app.metrics.connections.fetch_sub(1, Ordering::Relaxed);
        let mut open = self.doors.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.address);
            }
        }
    }
}

/// Serves until `stop` says so, then lets requests that are under way end.
pub async fn serve(
    listener: TcpListener,
    app: App,
    router: Router,
    mut stop: watch::Receiver<bool>,
) {
    let doors = Arc::new(Doors::default());
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let (stream, peer) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file descriptors, for instance: waiting a little is all one can do.
                    tracing::warn!(%error, "could not accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
            () = told(&mut stop) => break,
            Some(_) = connections.join_next() => continue,
        };
        if let Some(door) = doors.enter(&app, peer.ip()) {
            connections.spawn(connection(stream, peer, door, router.clone(), stop.clone()));
        }
    }
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(DRAIN, drained).await.is_err() {
        tracing::warn!("some requests did not end in time and were cut off");
    }
}

/// Waits until the service is told to stop.
pub async fn told(stop: &mut watch::Receiver<bool>) {
    // If nobody can tell any more, it is time to stop as well.
    let _ = stop.wait_for(|stop| *stop).await;
}

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    door: Door,
    router: Router,
    mut stop: watch::Receiver<bool>,
) {
    // Small answers must not wait for more to be sent.
    let _ = stream.set_nodelay(true);
    let (heads, endless) = (RequestHeads::default(), Endless::default());
    let wire = Wire::new(stream, door.app.clone(), heads.clone(), endless.clone());
    let service = service_fn(|mut request: Request<Incoming>| {
        endless.over();
        request.extensions_mut().insert(endless.clone());
        if let Some(fault) = heads.next_fault() {
            request.extensions_mut().insert(fault);
        }
        let (app, router) = (&door.app, &router);
        async move {
            Ok::<_, Infallible>(edge::answer(app, router, request.map(Body::new), peer.ip()).await)
        }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_WITHIN)
        .half_close(true)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEADER_BYTES)
        .serve_connection(TokioIo::new(wire), service);
    tokio::pin!(served);
    tokio::select! {
        // A client that went away or spoke nonsense is not our failure.
        _ = served.as_mut() => return,
        () = told(&mut stop) => served.as_mut().graceful_shutdown(),
    }
    let _ = served.await;
}
