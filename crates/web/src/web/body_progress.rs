//! Tracks whether a request's body was read to its end. If it was not, the rest is still on the connection, which
//! therefore closes after the response (`Connection: close`).

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http::Request;
use http_body::{Body as _, Frame, SizeHint};

/// How much of a body was read. Shared between the body and [`super::edge`].
#[derive(Clone, Default)]
pub struct BodyProgress(Arc<ProgressFlags>);

#[derive(Default)]
struct ProgressFlags {
    /// Whether the body was read to its end.
    ended: AtomicBool,
    /// Whether the handler is waiting for the client to send more.
    waiting_for_client: AtomicBool,
}

impl BodyProgress {
    /// Wraps the body of a request to track it. The second value is `None` if the request has no body.
    pub fn track(request: Request<Body>) -> (Request<Body>, Option<Self>) {
        if request.body().is_end_stream() {
            return (request, None);
        }
        let progress = Self::default();
        let shared = progress.clone();
        (request.map(|inner| Body::new(TrackedBody { inner, progress: shared })), Some(progress))
    }

    /// Whether a part of the body was not read.
    pub fn has_unread_data(&self) -> bool {
        !self.0.ended.load(Ordering::Relaxed)
    }

    /// Whether the handler is waiting for the client to send more of the body.
    pub fn is_waiting_for_client(&self) -> bool {
        self.0.waiting_for_client.load(Ordering::Relaxed)
    }
}

/// A body that records its progress.
struct TrackedBody {
    inner: Body,
    progress: BodyProgress,
}

impl http_body::Body for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.inner).poll_frame(cx);
        if matches!(frame, Poll::Ready(None)) || self.inner.is_end_stream() {
            self.progress.0.ended.store(true, Ordering::Relaxed);
        }
        self.progress.0.waiting_for_client.store(frame.is_pending(), Ordering::Relaxed);
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
