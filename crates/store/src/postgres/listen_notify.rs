//! Forwards change notifications between the nodes on one PostgreSQL server, with `LISTEN` and `NOTIFY`.
//!
//! Notifications in transit are lost when the connection is lost. Listeners therefore also poll from time to time.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::sleep;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{AsyncMessage, Config, NoTls, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::scope::Tools;
use crate::{ChangeNotifier, Result};

/// The pause between two messages. Changes in the meantime are sent together.
const BATCH_INTERVAL: Duration = Duration::from_millis(20);
/// The pause before reconnecting.
const RECONNECT_DELAY: Duration = Duration::from_secs(1);
/// The maximum number of accounts in one message. A payload of `NOTIFY` is limited to 8,000 bytes.
const MAX_ACCOUNTS_PER_MESSAGE: usize = 200;

/// Notifies other nodes of changes on this one, and this node of theirs, until `shutdown` resolves.
pub(super) fn run(
    config: &Config,
    tls: Option<MakeRustlsConnect>,
    shutdown: oneshot::Receiver<()>,
    tools: &Arc<Tools>,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return tracing::warn!(%error, "cannot listen to changes of other nodes"),
    };
    let node = format!("{:016x}", u64::from_le_bytes(tools.rng.bytes()));
    runtime.block_on(async {
        let relay = async {
            loop {
                let outcome = match tls.clone() {
                    Some(tls) => relay(config, tls, &tools.notifier, &node).await,
                    None => relay(config, NoTls, &tools.notifier, &node).await,
                };
                if let Err(error) = outcome {
                    tracing::debug!(%error, "the connection that listens to other nodes ended");
                }
                sleep(RECONNECT_DELAY).await;
            }
        };
        tokio::select! {
            // Resolves with an error, because the sender is dropped and never used.
            _ = shutdown => {}
            () = relay => {}
        }
    });
}

async fn relay<T: MakeTlsConnect<Socket>>(
    config: &Config,
    tls: T,
    notifier: &ChangeNotifier,
    node: &str,
) -> Result<()> {
    let (client, mut connection) = config.connect(tls).await?;
    let receive = async {
        while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(notification) = message? {
                accounts_of_other_nodes(notification.payload(), node)
                    .for_each(|account| notifier.notify_local(account));
            }
        }
        Ok(())
    };
    let send = async {
        client.batch_execute("listen touchline_changes").await?;
        loop {
            let accounts = notifier.wait_for_outgoing().await;
            let accounts: Vec<_> = accounts.iter().map(|account| format!(" {account:x}")).collect();
            for chunk in accounts.chunks(MAX_ACCOUNTS_PER_MESSAGE) {
                let text = format!("notify touchline_changes, '{node}{}'", chunk.concat());
                client.batch_execute(&text).await?;
            }
            sleep(BATCH_INTERVAL).await;
        }
    };
    tokio::select! {
        outcome = receive => outcome,
        outcome = send => outcome,
    }
}

/// Parses a message: the sender's node id, then account ids in hexadecimal. Messages of this node yield nothing.
fn accounts_of_other_nodes<'a>(message: &'a str, node: &'a str) -> impl Iterator<Item = u128> + 'a {
    let (sender, accounts) = message.split_once(' ').unwrap_or((message, ""));
    let accounts = if sender == node { "" } else { accounts };
    accounts.split(' ').filter_map(|account| u128::from_str_radix(account, 16).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_messages_of_other_nodes_are_read() {
        let accounts = |message| accounts_of_other_nodes(message, "me").collect::<Vec<_>>();
        assert_eq!(accounts("you a ff"), [10, 255]);
        for ignored in ["me a ff", "you", "", "you x \u{1f3c9}"] {
            assert_eq!(accounts(ignored), [], "{ignored}");
        }
    }
}
