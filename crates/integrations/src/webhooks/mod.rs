//! Webhooks: subscriptions to notifications, and their deliveries.

pub mod access;
pub mod address;
pub mod api;
mod demo;
pub mod actions;
pub mod delivery;
pub mod visibility;
pub mod edit;
pub mod health;
pub mod notifications;
pub mod listing;
pub mod outcome;
pub mod pages;
pub mod replay;
pub mod signature;
pub mod summary;
pub mod webhook;

use crate::accounts::account;
use crate::ids::{DeliveryKind, NotificationKind, WebhookKind};
use crate::rights::ScopeName;
use crate::web::module::Module;

crate::permissions! {
    /// Manage webhooks.
    WebhooksManage: Some(ScopeName::WebhooksWrite), Admin;
}

/// This module.
pub const MODULE: Module = Module {
    api: |routes| api::routes(notifications::api::routes(routes)),
    pages: pages::router,
    permissions: PERMISSIONS,
    register_hooks: || {
        account::ON_DELETED.register(notifications::retention::delete_all_deliveries);
    },
    demo: Some(demo::create),
    notification_kinds: crate::notification_kinds! {
        mark!("Webhooks"), Some(ScopeName::WebhooksWrite), "Webhook" {
            "webhook.disabled": "A webhook was disabled: manually, because it failed for too long, because its receiver responded with 410, or because its owner lost access.";
        }
    },
    object_names: crate::object_names! {
        WebhookKind: mark!("Deleted webhook"),
            "select id, url from webhook where account_id = :account and id in (:ids)";
        DeliveryKind: mark!("Delivery");
        NotificationKind: mark!("Notification");
    },
    ..Module::EMPTY
};
