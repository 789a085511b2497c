//! Card payments: families pay orders and dues on a page hosted by the payment provider, and refunds go back to the
//! card.
//!
//! Disabled unless configured. Every operation is recorded first, then requested from the provider, then completed with
//! the provider's response. Reconciliation repairs whatever fails in between. See `docs/cards.md`.

pub mod api;
pub mod checkout;
pub mod disputes;
pub mod stripe_webhook;
mod emails;
pub mod checkout_session;
pub mod pages;
pub mod reconcile;
pub mod refunds;
pub mod refund_results;
pub mod settlement;
pub mod signature;
pub mod subject;

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::ids::CheckoutKind;
use crate::rights::ScopeName;
use crate::web::app::App;
use crate::web::module::Module;
use crate::web::server::stop_requested;

/// This module.
pub const MODULE: Module = Module {
    api: api::routes,
    pages: || stripe_webhook::router().merge(pages::router()),
    notification_kinds: crate::notification_kinds! {
        mark!("Refunds"), Some(ScopeName::OrdersRead), "Refund" {
            "refund.completed": "The payment provider completed a refund.";
            "refund.failed": "The payment provider could not complete a refund; refund the amount in another way.";
        }
        mark!("Payments"), Some(ScopeName::OrdersRead), "Payment" {
            "payment.disputed": "A card payment was disputed by the payer's bank, or a dispute was decided.";
        }
        mark!("Payments"), Some(ScopeName::OrdersRead), "Checkout" {
            "payment.unmatched": "A card payment arrived that does not match: too late, or with another amount. A late payment for an order is refunded, and for a due it is kept as credit. A wrong amount is not recorded.";
        }
    },
    object_names: crate::object_names! {
        CheckoutKind: mark!("Card payment");
    },
    ..Module::EMPTY
};

/// How often pending refunds are sent to the provider.
const SEND_EVERY: Duration = Duration::from_secs(2);
/// Pause after the provider could not be reached.
const UNREACHABLE_PAUSE: Duration = Duration::from_secs(30);
/// How often open checkouts and refunds are reconciled with the provider.
const RECONCILE_EVERY: Duration = Duration::from_secs(600);
/// The actor of changes that come from the provider.
pub const ACTOR: &str = "cards";

/// Sends refunds and reconciles with the provider until the service stops.
pub async fn run(app: App, mut stop: watch::Receiver<bool>) {
    let Some(cards) = app.cards.clone() else { return };
    let mut last_reconciled: Option<Instant> = None;
    loop {
        let reconcile_due = last_reconciled.is_none_or(|at| at.elapsed() >= RECONCILE_EVERY);
        let reached = if reconcile_due {
            let reached = reconcile::reconcile_all(&app, &cards).await;
            // After a failure, the next round reconciles again.
            last_reconciled = reached.then(Instant::now);
            reached
        } else {
            refunds::send_pending(&app, &cards).await
        };
        let wait = if reached { SEND_EVERY } else { UNREACHABLE_PAUSE };
        if tokio::time::timeout(wait, stop_requested(&mut stop)).await.is_ok() {
            return;
        }
    }
}
