//! Whether a request's body was read to its end. Where it was not, what is left of it still comes along the
//! connection, which therefore ends with the answer; whoever sends it is told so.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http::Request;
use http_body::{Body as _, Frame, SizeHint};

/// How far a body was read.
#[derive(Clone, Default)]
pub struct Unread(Arc<Progress>);

#[derive(Default)]
struct Progress {
    /// Whether the end was reached.
    ended: AtomicBool,
    /// Whether the handler waits for the client to send more.
    awaited: AtomicBool,
}

impl Unread {
    /// The request, and how far its body was read by the time one asks. `None` if it has none.
    pub fn of(request: Request<Body>) -> (Request<Body>, Option<Self>) {
        if request.body().is_end_stream() {
            return (request, None);
        }
        let unread = Self::default();
        let own = unread.clone();
        (request.map(|inner| Body::new(Watched { inner, read: own })), Some(unread))
    }

    /// Whether something is left of the body.
    pub fn is_left(&self) -> bool {
        !self.0.ended.load(Ordering::Relaxed)
    }

    /// Whether the handler waits for the client to send more of the body.
    pub fn is_awaited(&self) -> bool {
        self.0.awaited.load(Ordering::Relaxed)
    }
}

/// A body that records how far it was read.
struct Watched {
    inner: Body,
    read: Unread,
}

impl http_body::Body for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.inner).poll_frame(cx);
        if matches!(frame, Poll::Ready(None)) || self.inner.is_end_stream() {
            self.read.0.ended.store(true, Ordering::Relaxed);
        }
        self.read.0.awaited.store(frame.is_pending(), Ordering::Relaxed);
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
