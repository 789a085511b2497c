//! The HTTP client of the S3 store. It uses the connections of this crate, so that no second HTTP and TLS library is
//! needed.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http_body_util::BodyExt;
use hyper_util::client::legacy::Client as Pool;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
    HttpResponse, HttpResponseBody, HttpService,
};
use tokio_rustls::TlsConnector;

use crate::outbound::{ConnectError, Connector};

/// How long connecting may take, and how long the service may take to respond.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);

/// Connects to an S3 service.
#[derive(Clone)]
pub(super) struct S3Connector(Pool<Connector, HttpRequestBody>);

impl S3Connector {
    pub(super) fn new() -> Result<Self, String> {
        let tls = TlsConnector::from(Arc::new(store::tls::client_config(None)?));
        let connector = Connector { guard: None, tls, timeout: CONNECT_TIMEOUT };
        let pool = Pool::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .build(connector);
        Ok(Self(pool))
    }
}

impl fmt::Debug for S3Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("S3Connector")
    }
}

impl HttpConnector for S3Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for S3Connector {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let response = tokio::time::timeout(RESPONSE_TIMEOUT, self.0.request(request)).await;
        let response = response
            .map_err(|_| HttpError::new(HttpErrorKind::Timeout, ConnectError("timeout")))?
            .map_err(|error| {
                let kind = if error.is_connect() {
                    HttpErrorKind::Connect
                } else {
                    HttpErrorKind::Request
                };
                HttpError::new(kind, error)
            })?;
        let interrupted = |error| HttpError::new(HttpErrorKind::Interrupted, error);
        Ok(response.map(|body| HttpResponseBody::new(body.map_err(interrupted))))
    }
}
