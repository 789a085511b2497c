//! Data about a request that lives as long as the request: its id, client address, account and quota.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use http::request::Parts;

use super::limits::Allowance;
use super::public_url::RequestHost;
use crate::error::{Error, Result};
use crate::ids::{AccountId, KeyId, RequestId};

/// The context of a request, shared by [`super::edge`] and the handler. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Context(Arc<ContextInner>);

#[derive(Debug)]
struct ContextInner {
    id: String,
    /// The client's address, with trusted proxies skipped.
    address: IpAddr,
    /// The host of the request. `None` if `base_url` is set.
    host: Option<RequestHost>,
    account: OnceLock<AccountId>,
    key: OnceLock<KeyId>,
    allowance: OnceLock<Allowance>,
    /// What somebody entered into the form that the request sends.
    entered: OnceLock<Vec<String>>,
}

impl Context {
    /// Creates the context of a new request.
    pub fn new(id: RequestId, address: IpAddr, host: Option<RequestHost>) -> Self {
        Self(Arc::new(ContextInner {
            id: id.to_string(),
            address,
            host,
            account: OnceLock::new(),
            key: OnceLock::new(),
            allowance: OnceLock::new(),
            entered: OnceLock::new(),
        }))
    }

    /// The context that [`super::edge`] added to a request.
    pub fn of(parts: &Parts) -> Result<Self> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| {
            Error::internal("the request has no context: it did not pass through web::edge")
        })
    }

    /// The request id as it is sent to the client.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// The client's address.
    pub fn address(&self) -> IpAddr {
        self.0.address
    }

    /// The host of the request. `None` if `base_url` is set.
    pub fn host(&self) -> Option<&RequestHost> {
        self.0.host.as_ref()
    }

    /// Records the account of the request.
    pub fn identify(&self, account: AccountId) {
        // If this were ever called twice, the first call counts.
        let _ = self.0.account.set(account);
    }

    /// Records what is left of the account's quota.
    pub fn set_allowance(&self, allowance: Allowance) {
        let _ = self.0.allowance.set(allowance);
    }

    /// The account, once it is known.
    pub fn account(&self) -> Option<AccountId> {
        self.0.account.get().copied()
    }

    /// Records the account and the API key of the request.
    pub fn identify_key(&self, account: AccountId, key: KeyId) {
        self.identify(account);
        let _ = self.0.key.set(key);
    }

    /// The account and the API key of the request, if it has one.
    pub fn account_and_key(&self) -> Option<(AccountId, KeyId)> {
        self.account().zip(self.0.key.get().copied())
    }

    /// Keeps what somebody entered into a form, so that an error page can show it.
    pub fn keep_entered(&self, texts: Vec<String>) {
        let _ = self.0.entered.set(texts);
    }

    /// What somebody entered into the form. `None` if the request sends no form, or one with secrets.
    pub fn entered(&self) -> Option<&[String]> {
        self.0.entered.get().map(Vec::as_slice)
    }

    /// What is left of the account's quota, once it is known.
    pub fn allowance(&self) -> Option<&Allowance> {
        self.0.allowance.get()
    }
}
