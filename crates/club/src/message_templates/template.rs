//! The template record: its rules, its SQL and its functions.

use kit::text;
use macros::{inputs, query};

use crate::error::UniqueViolationExt;
use crate::paging::page_sql;
use crate::prelude::*;

record! {
    /// A text for messages that the club sends again and again.
    #[inputs(
        /// A new template.
        create(NewMessageTemplate, as = CreateMessageTemplateRequest),
        /// Changes to a template. Omitted fields stay unchanged; `null` clears a field.
        update(MessageTemplateChange, as = UpdateMessageTemplateRequest),
    )]
    #[macros::object("message_template")]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    pub struct MessageTemplate in message_template {
        pub id: MessageTemplateId,
        #[serde(skip)]
        pub account_id: AccountId,
        /// Name of the template; unique in the account (case-insensitive).
        #[schema(examples("Match day"))]
        #[input(line(120))]
        pub name: String,
        #[serde(skip)]
        #[derived(text::fold_case(&name))]
        pub name_folded: String,
        /// Subject of the message.
        #[schema(examples("Match on Saturday"))]
        #[input(line(200))]
        pub subject: Option<String>,
        /// Text of the message, in Markdown.
        #[schema(examples("Meet at the **lower pitch**, 45 minutes before kick-off."))]
        #[input(block(20_000))]
        pub body: String,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        /// Increases with every change.
        pub version: i64,
    }
}

impl_resource!(MessageTemplate by MessageTemplateId: Subject Versioned Paged Saved);

/// Filters for listing templates.
#[query(items = "templates")]
#[derive(Default)]
pub struct MessageTemplateFilter {
    pub updated_since: Option<Timestamp>,
    /// Only templates whose name contains this text (case-insensitive).
    #[param(line(120))]
    pub q: Option<String>,
}

/// Creates a template.
pub fn create(tx: &Tx<'_>, new: NewMessageTemplate) -> Result<MessageTemplate> {
    let template = new.into_record(tx);
    map_unique_violation(tx.execute(MessageTemplate::INSERT, &template.bind()))?;
    tx.publish("message_template.created", &template)?;
    Ok(template)
}

/// One template.
pub fn find(db: &Reader<'_>, id: MessageTemplateId) -> Result<MessageTemplate> {
    let text = sql!(MessageTemplate::SELECT, " where account_id = :account and id = :id");
    Ok(db.one(text, bind! { id })?)
}

/// A page of templates, in order of creation.
pub fn list(
    db: &Reader<'_>,
    filter: &MessageTemplateFilter,
    page: &Page<MessageTemplateId>,
) -> Result<Vec<MessageTemplate>> {
    let pattern = filter.q.as_deref().map(text::contains_pattern);
    let (after, limit) = page.bounds();
    let values = bind! { after, limit, pattern, updated_since: filter.updated_since };
    Ok(db.all(page_sql!(page, MessageTemplate::SELECT, FILTER), values)?)
}

const FILTER: &str = "
    where account_id = :account
      and (cast(:updated_since as bigint) is null or updated_at >= :updated_since)
      and (cast(:pattern as text) is null or name_folded like :pattern escape '\\')";

/// Updates a template.
pub fn change(
    tx: &Tx<'_>,
    id: MessageTemplateId,
    expected: &IfMatch,
    change: MessageTemplateChange,
) -> Result<MessageTemplate> {
    let before = expected.check(find(tx, id))?;
    let after = before.apply(change);
    if after == before {
        return Ok(before);
    }
    let after = map_unique_violation(after.save(tx))?;
    tx.publish_change("message_template.updated", &before, &after)?;
    Ok(after)
}

/// Deletes a template. Messages written with it stay.
pub fn delete(tx: &Tx<'_>, id: MessageTemplateId, expected: &IfMatch) -> Result<MessageTemplate> {
    let template = expected.check(find(tx, id))?;
    tx.execute(
        "delete from message_template where account_id = :account and id = :id",
        bind! { id },
    )?;
    tx.publish("message_template.deleted", &template)?;
    Ok(template)
}

/// Turns a violation of the unique constraint into an error for the caller.
fn map_unique_violation<T>(result: store::Result<T>) -> Result<T> {
    let detail = "Another template already has this name.";
    result.on_unique_violation("message_template_account_id_name_folded_key", "/name", detail)
}
