//! What is known of a request from its first byte to the last of its answer.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use super::limits::Allowance;
use super::public_url::RequestHost;
use crate::ids::{AccountId, RequestId};

/// The request's own facts, shared by the edge and whoever handles the request.
#[derive(Debug, Clone)]
pub struct Context(Arc<Facts>);

#[derive(Debug)]
struct Facts {
    id: String,
    /// Where the request came from, seen past trusted proxies.
    address: IpAddr,
    /// The host the request names. Absent where `base_url` is set.
    host: Option<RequestHost>,
    account: OnceLock<AccountId>,
    allowance: OnceLock<Allowance>,
}

impl Context {
    /// A request that just came in.
    pub fn new(id: RequestId, address: IpAddr, host: Option<RequestHost>) -> Self {
        let (account, allowance) = (OnceLock::new(), OnceLock::new());
        Self(Arc::new(Facts { id: id.to_string(), address, host, account, allowance }))
    }

    /// The request's id as it is shown.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// The client's address.
    pub fn address(&self) -> IpAddr {
        self.0.address
    }

    /// The host the request names, where no `base_url` is set.
    pub fn host(&self) -> Option<&RequestHost> {
        self.0.host.as_ref()
    }

    /// Notes for whom the request turned out to be, and what it left of the quota.
    pub fn identify(&self, account: AccountId, allowance: Allowance) {
        // A request is identified once; if it ever were twice, the first one counts.
        let _ = self.0.account.set(account);
        let _ = self.0.allowance.set(allowance);
    }

    /// The account, once it is known.
    pub fn account(&self) -> Option<AccountId> {
        self.0.account.get().copied()
    }

    /// What is left of the account's quota, once it is known.
    pub fn allowance(&self) -> Option<&Allowance> {
        self.0.allowance.get()
    }
}
