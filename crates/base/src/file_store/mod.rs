//! The store of uploaded files: a directory, or an S3 bucket. It holds bytes by key; the database holds everything else.
//!
//! A file is stored before its row is committed, and its row is deleted after its bytes. A crash in between leaves bytes
//! without a row, which a job deletes.

mod s3_client;

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path as FilePath, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, RetryConfig};

use crate::config::{Config, FileLocation, Secret};
use crate::error::{Code, Error, Result};
use s3_client::S3Connector;

/// Requests to a bucket are retried for this long.
const RETRY_TIMEOUT: Duration = Duration::from_secs(15);
/// The key of the object that [`FileStore::check`] writes.
const PROBE: &str = "probe";

/// The store of this installation.
pub struct FileStore(Place);

enum Place {
    /// The directory is created when it is first used.
    Local {
        folder: PathBuf,
        store: OnceLock<LocalFileSystem>,
    },
    Bucket {
        prefix: Path,
        store: Box<AmazonS3>,
    },
}

/// The content of a stored file.
pub struct StoredContent {
    pub size: u64,
    pub chunks: BoxStream<'static, std::io::Result<Bytes>>,
}

impl StoredContent {
    /// All bytes.
    pub async fn into_bytes(self) -> std::io::Result<Vec<u8>> {
        let append = |mut all: Vec<u8>, chunk: Bytes| async move {
            all.extend_from_slice(&chunk);
            Ok(all)
        };
        self.chunks.try_fold(Vec::new(), append).await
    }
}

impl FileStore {
    /// The store that the settings name.
    pub fn new(config: &Config) -> Result<Self, String> {
        let place = match &config.files {
            FileLocation::Local => {
                Place::Local { folder: config.data.join("files"), store: OnceLock::new() }
            }
            FileLocation::Bucket { name, prefix } => {
                let store = Box::new(bucket(config, name)?);
                Place::Bucket { prefix: Path::from(prefix.as_str()), store }
            }
        };
        Ok(Self(place))
    }

    /// The directory of the files, if they are stored in the data directory.
    pub fn folder(&self) -> Option<&FilePath> {
        match &self.0 {
            Place::Local { folder, .. } => Some(folder),
            Place::Bucket { .. } => None,
        }
    }

    /// Stores a file durably.
    pub async fn put(&self, key: &str, bytes: Bytes) -> Result<()> {
        let (store, path) = self.locate(key).map_err(unavailable)?;
        store.put(&path, bytes.into()).await.map(drop).map_err(unavailable)
    }

    /// Opens a file. `None` if it does not exist.
    pub async fn get(&self, key: &str) -> Result<Option<StoredContent>> {
        let (store, path) = self.locate(key).map_err(unavailable)?;
        match store.get(&path).await {
            Ok(found) => {
                let size = found.meta.size;
                let chunks = found.into_stream().map_err(std::io::Error::other).boxed();
                Ok(Some(StoredContent { size, chunks }))
            }
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(unavailable(error)),
        }
    }

    /// Deletes a file, if it exists.
    pub async fn delete(&self, key: &str) -> Result<()> {
        let (store, path) = self.locate(key).map_err(unavailable)?;
        match store.delete(&path).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(unavailable(error)),
        }
    }

    /// The keys of all files, in any order.
    pub fn list(&self) -> Result<BoxStream<'_, Result<String>>> {
        let (store, root) = self.locate("").map_err(unavailable)?;
        let prefix = (!root.as_ref().is_empty()).then_some(&root);
        let objects = store.list(prefix);
        let key = move |path: Path| {
            let parts = path.prefix_match(&root)?.map(|part| part.as_ref().to_owned());
            Some(parts.collect::<Vec<_>>().join("/"))
        };
        let keys = objects.map_err(unavailable).try_filter_map(move |object| {
            let key = key(object.location);
            async move { Ok(key) }
        });
        Ok(keys.boxed())
    }

    /// Writes, reads and deletes an object. Returns what went wrong.
    pub async fn check(&self) -> Result<(), String> {
        let content = Bytes::from_static(b"Touchline checks this store.");
        let probe = async {
            self.put(PROBE, content.clone()).await?;
            let found = self.get(PROBE).await?;
            let found = match found {
                Some(found) => found.into_bytes().await.ok(),
                None => None,
            };
            self.delete(PROBE).await?;
            Ok::<_, Error>(found)
        };
        match probe.await {
            Ok(Some(read)) if read == content => Ok(()),
            Ok(_) => Err("a file could not be read back".to_owned()),
            Err(error) => {
                Err(error.cause.map_or_else(|| error.detail.english(), |cause| cause.to_string()))
            }
        }
    }

    fn locate(&self, key: &str) -> object_store::Result<(&dyn ObjectStore, Path)> {
        match &self.0 {
            Place::Local { folder, store } => {
                if let Some(store) = store.get() {
                    return Ok((store, Path::from(key)));
                }
                let opened = open_folder(folder)?;
                Ok((store.get_or_init(|| opened), Path::from(key)))
            }
            Place::Bucket { prefix, store } => {
                let path: Path = prefix.parts().chain(Path::from(key).parts()).collect();
                Ok((store.as_ref(), path))
            }
        }
    }
}

/// Opens a directory, which is created for its owner only.
fn open_folder(folder: &FilePath) -> object_store::Result<LocalFileSystem> {
    let created = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    created.map_err(|error| object_store::Error::Generic {
        store: "files",
        source: format!("{}: {error}", folder.display()).into(),
    })?;
    Ok(LocalFileSystem::new_with_prefix(folder)?.with_automatic_cleanup(true).with_fsync(true))
}

fn bucket(config: &Config, name: &str) -> Result<AmazonS3, String> {
    let reveal = |secret: &Option<Secret>| secret.as_ref().map_or("", Secret::reveal).to_owned();
    let retry =
        RetryConfig { max_retries: 3, retry_timeout: RETRY_TIMEOUT, ..RetryConfig::default() };
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(name)
        .with_region(&config.files_region)
        .with_access_key_id(reveal(&config.files_access_key))
        .with_secret_access_key(reveal(&config.files_secret_key))
        .with_retry(retry)
        .with_http_connector(S3Connector::new()?);
    if let Some(url) = &config.files_endpoint {
        let is_plain = url.as_str().starts_with("http://");
        builder = builder.with_endpoint(url.as_str()).with_allow_http(is_plain);
    }
    builder.build().map_err(|error| format!("files: {error}"))
}

fn unavailable(error: object_store::Error) -> Error {
    let detail = "Files cannot be stored or read at the moment. Try again later.";
    let error =
        Error { cause: Some(error.to_string().into()), ..Error::new(Code::Overloaded, detail) };
    error.retry_after(5)
}
