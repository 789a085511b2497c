//! The doorway: how this service connects to other machines, plain or encrypted, within a given time and past
//! a guard where others choose the address.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tower::Service;

use crate::webhooks::guard::Guard;

/// Why there is no connection.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) &'static str);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Refused {}

/// The way out: looks a name up, checks every machine it names, connects and encrypts.
#[derive(Clone)]
pub(crate) struct Doorway {
    /// Who must not be reached; `None` where the operator chose the address.
    pub(crate) guard: Option<Arc<Guard>>,
    pub(crate) tls: TlsConnector,
    pub(crate) patience: Duration,
}

impl Service<Uri> for Doorway {
    type Response = Line;
    type Error = Refused;
    type Future = Pin<Box<dyn Future<Output = Result<Line, Refused>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Refused>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let way = self.clone();
        // A connection that nobody waits for any more ends in time, too.
        let connect = async move {
            let connected = timeout(way.patience, way.connect(&to)).await;
            connected.unwrap_or(Err(Refused("timeout")))
        };
        Box::pin(connect)
    }
}

impl Doorway {
    async fn connect(&self, to: &Uri) -> Result<Line, Refused> {
        let host = to.host().ok_or(Refused("not_http"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let encrypted = to.scheme_str() == Some("https");
        let port = to.port_u16().unwrap_or(if encrypted { 443 } else { 80 });
        let stream = self.reach(&host, port, encrypted).await?;
        // A notification is small and must not wait for more to be sent.
        let _ = stream.set_nodelay(true);
        if !encrypted {
            return Ok(Line(TokioIo::new(Wire::Plain(stream))));
        }
        let name = ServerName::try_from(host).map_err(|_| Refused("tls_failed"))?;
        let stream = self.tls.connect(name, stream).await.map_err(|_| Refused("tls_failed"))?;
        Ok(Line(TokioIo::new(Wire::Encrypted(Box::new(stream)))))
    }

    /// Connects to the first machine of that name that may be reached and answers.
    async fn reach(&self, host: &str, port: u16, encrypted: bool) -> Result<TcpStream, Refused> {
        let machines = tokio::net::lookup_host((host, port)).await;
        let machines: Vec<SocketAddr> = machines.map_err(|_| Refused("dns_failed"))?.collect();
        if machines.is_empty() {
            return Err(Refused("dns_failed"));
        }
        // One forbidden machine among them is enough: the name is not what it seems. What is not encrypted
        // goes only where the operator said it may.
        let fine = |machine: &SocketAddr| {
            let Some(guard) = &self.guard else { return true };
            if encrypted { guard.lets(machine.ip()) } else { guard.allows(machine.ip()) }
        };
        if !machines.iter().all(fine) {
            return Err(Refused("address_blocked"));
        }
        // One that does not answer leaves time for the others.
        let share = self.patience / u32::try_from(machines.len()).unwrap_or(u32::MAX);
        for machine in machines {
            if let Ok(Ok(stream)) = timeout(share, TcpStream::connect(machine)).await {
                return Ok(stream);
            }
        }
        Err(Refused("connection_failed"))
    }
}

enum Wire {
    Plain(TcpStream),
    Encrypted(Box<TlsStream<TcpStream>>),
}

/// A connection to another machine.
pub(crate) struct Line(TokioIo<Wire>);

impl Connection for Line {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Encrypted(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Encrypted(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Encrypted(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Encrypted(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

impl hyper::rt::Read for Line {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: hyper::rt::ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_read(context, buffer)
    }
}

impl hyper::rt::Write for Line {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().0).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_shutdown(context)
    }
}
