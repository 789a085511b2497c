//! What is done beside requests: forgetting what is too old to be needed.

use std::time::Duration;

use store::Scope;
use tokio::sync::watch;

use crate::app::App;
use crate::web::idempotency;
use crate::web::server::told;

/// How often the loop looks for work.
const EVERY: Duration = Duration::from_secs(60);

/// Does what there is to do until the service stops.
pub async fn run(app: App, mut stop: watch::Receiver<bool>) {
    loop {
        forget_old_keys(&app).await;
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = told(&mut stop) => return,
        }
    }
}

/// Forgets idempotency keys past their time in small steps, so that no write waits long.
pub async fn forget_old_keys(app: &App) {
    let kept = app.config.idempotency_ttl;
    while !app.is_stopping() {
        let forgotten =
            app.db.write(Scope::system("forget"), move |tx| idempotency::forget(tx, kept)).await;
        match forgotten {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(cause = ?error.cause, "could not forget old idempotency keys");
                return;
            }
        }
    }
}
