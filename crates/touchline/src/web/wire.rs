//! The wire: a connection's bytes, watched for five things the HTTP library does not do for us.
//!
//! It reads request heads that other parsers may understand differently, it
//! answers what it cannot parse by itself, without a request id, and it closes on a client that is
//! still sending, who then never sees the refusal. Here the first is noticed ([`RequestHeads`]), the second is given a
//! problem like every other refusal, and in the third case the client is heard out for a while. And a
//! client who never takes its answer is let go, or who has hung up on an answer that has no end.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

use super::request_head::RequestHeads;
use crate::app::App;
use crate::error::{Code, Error};

/// Whether the answer under way has no end. A client may close its side once it has asked and still wait for an
/// answer, but not for ever: then whoever closes has gone.
#[derive(Debug, Clone, Default)]
pub struct Endless(Arc<AtomicBool>);

impl Endless {
    /// An answer without end begins.
    pub fn begin(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Another request came, so it has ended.
    pub fn over(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// A watched connection.
pub struct Wire {
    stream: TcpStream,
    app: App,
    heads: RequestHeads,
    endless: Endless,
    /// What is written instead of the library's own answer: the bytes, and how many are out.
    instead: Option<(Vec<u8>, usize)>,
    /// Whether the last answer was a refusal, so that the client may still be sending.
    refused: bool,
    /// When to stop listening to a refused client.
    patience: Option<Pin<Box<Sleep>>>,
    /// When to give up on a client who takes nothing of its answer.
    stalled: Option<Pin<Box<Sleep>>>,
}

/// So long a refused client is heard out before the connection is closed.
const PATIENCE: Duration = Duration::from_secs(5);
/// So long a client may take nothing of its answer.
const STALLED: Duration = Duration::from_secs(20);
/// And so long once the service is about to stop.
const STALLED_AT_LAST: Duration = Duration::from_secs(3);

impl Wire {
    pub fn new(stream: TcpStream, app: App, heads: RequestHeads, endless: Endless) -> Self {
        Self {
            stream,
            app,
            heads,
            endless,
            instead: None,
            refused: false,
            patience: None,
            stalled: None,
        }
    }

    /// Passes on how writing went, unless it has not gone on for too long.
    fn watched<T>(
        &mut self,
        cx: &mut Context<'_>,
        went: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if went.is_ready() {
            self.stalled = None;
            return went;
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(STALLED)));
        let at_last = Instant::now() + STALLED_AT_LAST;
        if self.app.is_stopping() && stalled.deadline() > at_last {
            stalled.as_mut().reset(at_last);
        }
        stalled.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }

    /// Whether the client has hung up, as far as one can tell without reading.
    fn hung_up(&self, cx: &mut Context<'_>) -> bool {
        let mut byte = [0];
        let looked = self.stream.poll_peek(cx, &mut ReadBuf::new(&mut byte));
        matches!(looked, Poll::Ready(Ok(0) | Err(_)))
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        self.heads.scan(&buf.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl Wire {
    /// Notes what goes out.
    fn sending(&mut self, bytes: &[u8]) {
        if let Some(status) = bytes.strip_prefix(b"HTTP/1.1 ") {
            self.refused = matches!(status.first(), Some(b'4' | b'5'));
        }
    }

    fn write_instead(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some((bytes, out)) = &mut self.instead {
            *out += ready!(Pin::new(&mut self.stream).poll_write(cx, &bytes[*out..]))?;
            if *out == bytes.len() {
                self.instead = None;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl Wire {
    /// Reads what nobody wants until the client has no more, or patience ends. Closing on unread
    /// bytes resets the connection, and the client may lose the answer with it.
    fn hear_out(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let patience = self.patience.get_or_insert_with(|| Box::pin(sleep(PATIENCE)));
        let mut waste = [0; 8 * 1024];
        while patience.as_mut().poll(cx).is_pending() {
            let mut buf = ReadBuf::new(&mut waste);
            match ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buf)) {
                Ok(()) if !buf.filled().is_empty() => {}
                _ => break,
            }
        }
        Poll::Ready(())
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.sending(buf);
        if self.instead.is_none() {
            let Some(status) = unnamed_refusal(buf) else {
                let went = Pin::new(&mut self.stream).poll_write(cx, buf);
                return self.watched(cx, went);
            };
            self.instead = Some((named_refusal(status, &self.app), 0));
        }
        let went = self.write_instead(cx).map_ok(|()| buf.len());
        self.watched(cx, went)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = bufs.first().map_or(&[][..], |first| &first[..]);
        if self.instead.is_some() || unnamed_refusal(first).is_some() {
            return self.poll_write(cx, first);
        }
        self.sending(first);
        let went = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.watched(cx, went)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.endless.0.load(Ordering::Relaxed) && self.hung_up(cx) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.patience.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
        }
        if self.refused { self.hear_out(cx).map(Ok) } else { Poll::Ready(Ok(())) }
    }
}

/// The status of an answer that the library wrote by itself: a refusal, whole in one piece, without
/// a body and without the id that every answer of ours carries.
fn unnamed_refusal(bytes: &[u8]) -> Option<&str> {
    let text = bytes.strip_prefix(b"HTTP/1.1 4").filter(|_| bytes.ends_with(b"\r\n\r\n"))?;
    let ours = bytes.windows(11).any(|part| part.eq_ignore_ascii_case(b"request-id:"));
    let digits = text.get(..2).filter(|_| !ours)?;
    std::str::from_utf8(digits).ok()
}

fn named_refusal(last_digits: &str, app: &App) -> Vec<u8> {
    let (status, detail) = match last_digits {
        "31" => ("431 Request Header Fields Too Large", "The headers are too many or too large."),
        "14" => ("414 URI Too Long", "The address is too long."),
        _ => ("400 Bad Request", "The request is not valid HTTP."),
    };
    let id = app.new_request_id().to_string();
    let error = Error::new(Code::InvalidRequest, detail);
    let mut problem = error.problem(&id);
    problem.status = status[..3].parse().unwrap_or(400);
    let body = serde_json::to_string(&problem).unwrap_or_default();
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/problem+json\r\ncontent-length: {length}\r\n\
         request-id: {id}\r\nconnection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_librarys_own_refusals_are_replaced() {
        assert_eq!(unnamed_refusal(b"HTTP/1.1 431 X\r\ncontent-length: 0\r\n\r\n"), Some("31"));
        assert_eq!(unnamed_refusal(b"HTTP/1.1 404 X\r\nRequest-Id: req_1\r\n\r\n"), None);
        assert_eq!(unnamed_refusal(b"HTTP/1.1 200 OK\r\n\r\n"), None);
        assert_eq!(unnamed_refusal(b"HTTP/1.1 400 Bad Request\r\n"), None);
    }
}
