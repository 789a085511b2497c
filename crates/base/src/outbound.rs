//! Outbound connections: plain or TLS, with a timeout, and with a guard against internal addresses where a user chose
//! the URL.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tower::Service;

use crate::address_policy::AddressPolicy;

/// Why a connection could not be made: the class of the error, such as `dns_failed`.
#[derive(Debug)]
pub struct ConnectError(pub &'static str);

impl std::fmt::Display for ConnectError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for ConnectError {}

/// Connects to a host: resolves its name, checks every address, connects and, for `https`, does the TLS handshake.
#[derive(Clone)]
pub struct Connector {
    /// Which addresses may be connected to; `None` where the operator chose the URL.
    pub guard: Option<Arc<AddressPolicy>>,
    pub tls: TlsConnector,
    /// The longest time that connecting may take.
    pub timeout: Duration,
}

impl Service<Uri> for Connector {
    type Response = OutboundConnection;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<OutboundConnection, ConnectError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let connector = self.clone();
        // The pool may continue to connect after the request was given up, so connecting has its own timeout.
        let connect = async move {
            let result = timeout(connector.timeout, connector.connect(&to)).await;
            result.unwrap_or(Err(ConnectError("timeout")))
        };
        Box::pin(connect)
    }
}

impl Connector {
    async fn connect(&self, to: &Uri) -> Result<OutboundConnection, ConnectError> {
        let host = to.host().ok_or(ConnectError("not_http"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let is_tls = to.scheme_str() == Some("https");
        let port = to.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let stream = self.connect_tcp(&host, port, is_tls).await?;
        // Requests are small and must not wait for more data (Nagle's algorithm).
        let _ = stream.set_nodelay(true);
        if !is_tls {
            return Ok(TokioIo::new(Box::new(stream)));
        }
        let name = ServerName::try_from(host).map_err(|_| ConnectError("tls_failed"))?;
        let stream =
            self.tls.connect(name, stream).await.map_err(|_| ConnectError("tls_failed"))?;
        Ok(TokioIo::new(Box::new(stream)))
    }

    /// Connects to the first address of a host that accepts the connection.
    async fn connect_tcp(
        &self,
        host: &str,
        port: u16,
        is_tls: bool,
    ) -> Result<TcpStream, ConnectError> {
        let addresses = tokio::net::lookup_host((host, port)).await;
        let addresses: Vec<SocketAddr> =
            addresses.map_err(|_| ConnectError("dns_failed"))?.collect();
        if addresses.is_empty() {
            return Err(ConnectError("dns_failed"));
        }
        // One forbidden address is enough to refuse the host. Without TLS, only networks that the operator allowed are
        // permitted.
        let is_permitted = |address: &SocketAddr| {
            let Some(guard) = &self.guard else { return true };
            if is_tls {
                guard.permits(address.ip())
            } else {
                guard.is_allowed_network(address.ip())
            }
        };
        if !addresses.iter().all(is_permitted) {
            return Err(ConnectError("address_blocked"));
        }
        // An address that does not answer leaves time for the others.
        let timeout_each = self.timeout / u32::try_from(addresses.len()).unwrap_or(u32::MAX);
        for address in addresses {
            if let Ok(Ok(stream)) = timeout(timeout_each, TcpStream::connect(address)).await {
                return Ok(stream);
            }
        }
        Err(ConnectError("connection_failed"))
    }
}

/// The bytes of a TCP connection, with or without TLS.
pub trait OutboundStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> OutboundStream for T {}

/// A connection as hyper uses it.
pub type OutboundConnection = TokioIo<Box<dyn OutboundStream>>;

impl Connection for Box<dyn OutboundStream> {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}
