//! The wire: a connection's bytes, watched for two things the HTTP library does not tell.
//!
//! It reads a request that has both `Content-Length` and `Transfer-Encoding` without a word, and it
//! answers what it cannot parse by itself, without a request id. Here the first is noticed and the
//! second is given a problem like every other refusal.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::app::App;
use crate::error::{Code, Error};

/// Marks a request that announced its length in two ways.
#[derive(Debug, Clone, Copy)]
pub struct TwoLengths;

/// The beginning of the request that came last.
#[derive(Debug, Clone, Default)]
pub struct Head(Arc<Mutex<Vec<u8>>>);

/// So much of a request is kept to look at its headers.
const KEPT: usize = 8 * 1024;

impl Head {
    /// Whether the headers hold both ways to announce a length.
    pub fn has_two_lengths(&self) -> bool {
        let head = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let end = head.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(head.len());
        let named = |name: &[u8]| {
            head[..end].split(|byte| *byte == b'\n').any(|line| {
                line.len() > name.len() && line[..name.len()].eq_ignore_ascii_case(name)
            })
        };
        named(b"content-length") && named(b"transfer-encoding")
    }
}

/// A watched connection.
pub struct Wire<S> {
    stream: S,
    app: App,
    head: Head,
    /// Whether the next bytes that come in begin a new request.
    fresh: bool,
    /// What is written instead of the library's own answer: the bytes, and how many are out.
    instead: Option<(Vec<u8>, usize)>,
}

impl<S> Wire<S> {
    pub fn new(stream: S, app: App, head: Head) -> Self {
        Self { stream, app, head, fresh: true, instead: None }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Wire<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        let fresh = std::mem::take(&mut self.fresh);
        let mut head = self.head.0.lock().unwrap_or_else(PoisonError::into_inner);
        if fresh {
            head.clear();
        }
        let room = KEPT.saturating_sub(head.len());
        let came = &buf.filled()[before..];
        head.extend_from_slice(&came[..came.len().min(room)]);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> Wire<S> {
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

impl<S: AsyncWrite + Unpin> AsyncWrite for Wire<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.fresh = true;
        if self.instead.is_none() {
            let Some(status) = unnamed_refusal(buf) else {
                return Pin::new(&mut self.stream).poll_write(cx, buf);
            };
            self.instead = Some((named_refusal(status, &self.app), 0));
        }
        ready!(self.write_instead(cx))?;
        Poll::Ready(Ok(buf.len()))
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
        self.fresh = true;
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
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

    #[test]
    fn two_lengths_are_seen_whatever_their_case() {
        let seen = |head: &[u8]| Head(Arc::new(Mutex::new(head.to_vec()))).has_two_lengths();
        assert!(seen(
            b"POST / HTTP/1.1\r\nContent-length: 3\r\nTRANSFER-ENCODING: chunked\r\n\r\n"
        ));
        assert!(!seen(
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\ncontent-length: 3\r\n"
        ));
    }
}
