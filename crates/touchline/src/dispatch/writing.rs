//! What a carrier has sent, written down while it goes on.

use std::sync::Arc;

use store::Tx;
use tokio::sync::oneshot;

use super::Dispatcher;
use super::carrier::Errand;
use crate::error::{Code, Error, Result};
use crate::webhooks::outcome::{self, Known, Report};
use crate::webhooks::webhook::Reason;

/// What is being written down, if anything is.
#[derive(Default)]
pub(super) struct Writing(Option<oneshot::Receiver<Result<Option<Reason>>>>);

impl Writing {
    pub(super) fn begin(post: &Dispatcher, errand: Errand, report: Report) -> Self {
        let (db, known) = (post.app.db.clone(), Arc::new((report, post.rules.clone())));
        let write = move |whether: Known| {
            let (db, known) = (db.clone(), known.clone());
            let record = move |tx: &Tx<'_>| outcome::record(tx, &known.0, &known.1, whether);
            async move { db.write(errand.scope(), record).await }
        };
        let (done, writing) = oneshot::channel();
        post.app.spawn(async move {
            let written = match write(Known::Not).await {
                Err(error) if error.code == Code::Taken => write(Known::Perhaps).await,
                done => done,
            };
            // Written down is written down, whether or not anybody still waits for it.
            let _ = done.send(written);
        });
        Self(Some(writing))
    }

    /// Waits until it is. Says why the webhook is to be turned off, if it is.
    pub(super) async fn done(&mut self) -> Result<Option<Reason>> {
        match self.0.take() {
            Some(writing) => {
                writing.await.map_err(|_| Error::internal("could not write down what was sent"))?
            }
            None => Ok(None),
        }
    }
}
