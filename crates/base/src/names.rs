//! Display names of ids, for pages such as the audit log. All names of a page are looked up together.

use std::collections::HashMap;

use kit::{Id, Kind};
use store::{Reader, bind};

use crate::error::Result;
use crate::ids::{
    AccountKind, AppKind, ClaimKind, DiscountKind, DueKind, EventKind, FeedKind, InvitationKind,
    KeyKind, LocationKind, MemberKind, MessageKind, MessageTemplateKind, OrderKind, PersonKind,
    ProductKind, TeamKind, UserKind, WebhookKind,
};

/// The maximum number of characters of a name. Longer names are truncated.
const MAX_CHARS: usize = 80;

/// The query for the names that one column of a table contains.
macro_rules! names_in {
    ($column:literal, $table:literal) => {
        concat!(
            "select id, ",
            $column,
            " from ",
            $table,
            " where account_id = :account and id in (:ids)"
        )
    };
}

/// Display names by id.
#[derive(Debug, Default)]
pub struct Names(HashMap<String, String>);

impl Names {
    /// Looks up the names of these ids. People who have left the club have no name.
    pub fn load<'a>(db: &Reader<'_>, ids: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let ids: Vec<_> = ids.into_iter().collect();
        let mut names = Self::default();
        names.look_up::<UserKind>(db, &ids, USERS)?;
        names.look_up::<KeyKind>(db, &ids, names_in!("name", "api_key"))?;
        names.look_up::<AppKind>(db, &ids, names_in!("name", "oauth_app"))?;
        names.look_up::<TeamKind>(db, &ids, names_in!("name", "team"))?;
        names.look_up::<WebhookKind>(db, &ids, names_in!("url", "webhook"))?;
        names.look_up::<AccountKind>(db, &ids, ACCOUNTS)?;
        names.look_up::<PersonKind>(db, &ids, PEOPLE)?;
        names.look_up::<MemberKind>(db, &ids, MEMBERS)?;
        names.look_up::<EventKind>(db, &ids, names_in!("title", "event"))?;
        names.look_up::<LocationKind>(db, &ids, names_in!("name", "location"))?;
        names.look_up::<FeedKind>(db, &ids, names_in!("name", "calendar_feed"))?;
        names.look_up::<MessageKind>(db, &ids, names_in!("subject", "message"))?;
        names.look_up::<MessageTemplateKind>(db, &ids, names_in!("name", "message_template"))?;
        names.look_up::<ProductKind>(db, &ids, names_in!("name", "product"))?;
        names.look_up::<DiscountKind>(db, &ids, names_in!("code", "discount"))?;
        names.look_up::<OrderKind>(db, &ids, ORDERS)?;
        for (_, number) in names.0.iter_mut().filter(|(id, _)| id.starts_with(OrderKind::PREFIX)) {
            *number = t!("Order {number}", number = number.as_str());
        }
        names.look_up::<DueKind>(db, &ids, DUES)?;
        names.look_up::<InvitationKind>(db, &ids, INVITATIONS)?;
        names.look_up::<ClaimKind>(db, &ids, CLAIMS)?;
        Ok(names)
    }

    /// Adds the names of one kind of id. Ids of other kinds don't parse and are skipped.
    fn look_up<K: Kind + 'static>(
        &mut self,
        db: &Reader<'_>,
        ids: &[&str],
        sql: &'static str,
    ) -> Result<()> {
        let ids: Vec<Id<K>> = ids.iter().filter_map(|id| id.parse().ok()).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let rows: Vec<(Id<K>, Option<String>)> = db.all(sql, bind! { ids })?;
        let names = rows.into_iter().filter_map(|(id, name)| Some((id.to_string(), name?)));
        self.0.extend(names.map(|(id, name)| (id, name.chars().take(MAX_CHARS).collect())));
        Ok(())
    }

    /// Returns the name of an id, if it has one.
    pub fn get(&self, id: &str) -> Option<&str> {
        self.0.get(id).map(String::as_str)
    }

    /// Returns the name of an id, or the id itself.
    pub fn get_or_id<'a>(&'a self, id: &'a str) -> &'a str {
        self.get(id).unwrap_or(id)
    }
}

/// Whether a text looks like an id: a prefix, `_`, and 26 letters and digits.
pub fn is_id(text: &str) -> bool {
    let Some((prefix, rest)) = text.split_once('_') else { return false };
    let plain =
        |part: &str| part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    !prefix.is_empty() && rest.len() == 26 && plain(prefix) && plain(rest)
}

/// Returns a label for an id that has no name, by its prefix. The label is in English.
pub fn kind_label(id: &str) -> Option<&'static str> {
    let (prefix, _) = id.split_once('_').filter(|_| is_id(id))?;
    Some(match prefix {
        "usr" => mark!("Someone who left"),
        "key" => mark!("API key"),
        "app" => mark!("OAuth app"),
        "grt" => mark!("App access"),
        "sec" => mark!("App secret"),
        "whk" => mark!("Deleted webhook"),
        "dlv" => mark!("Delivery"),
        "ntf" => mark!("Notification"),
        "team" => mark!("Team"),
        "per" => mark!("Person"),
        "mem" => mark!("Member"),
        "evt" => mark!("Event"),
        "ser" => mark!("Series"),
        "rsv" => mark!("Answer"),
        "awy" => mark!("Away date"),
        "loc" => mark!("Location"),
        "cal" => mark!("Calendar"),
        "msg" => mark!("Message"),
        "mtpl" => mark!("Message template"),
        "mail" => mark!("Email"),
        "prod" => mark!("Product"),
        "dsc" => mark!("Discount code"),
        "ord" => mark!("Order"),
        "due" => mark!("Due"),
        "chg" => mark!("Charge"),
        "pay" => mark!("Payment"),
        "ref" => mark!("Refund"),
        "chk" => mark!("Card payment"),
        "inv" => mark!("Invitation"),
        "clm" => mark!("Request to join"),
        "acc" => mark!("Club"),
        "ses" => mark!("Session"),
        "pky" => mark!("Passkey"),
        _ => return None,
    })
}

const USERS: &str = "
    select u.id, u.name from account_user a join app_user u on u.id = a.user_id
    where a.account_id = :account and a.user_id in (:ids)";
const ACCOUNTS: &str = "select id, name from account where id = :account and id in (:ids)";
const PEOPLE: &str = "
    select id, coalesce(preferred_name, first_name) || coalesce(' ' || last_name, '') as name
    from person where account_id = :account and id in (:ids)";
const MEMBERS: &str = "
    select m.id, coalesce(p.preferred_name, p.first_name) || coalesce(' ' || p.last_name, '') as name
    from member m join person p on p.account_id = m.account_id and p.id = m.person_id
    where m.account_id = :account and m.id in (:ids)";
const ORDERS: &str = "
    select id, cast(number as text) as name from shop_order
    where account_id = :account and id in (:ids)";
const DUES: &str = "
    select d.id, d.title || ', ' || coalesce(p.preferred_name, p.first_name)
        || coalesce(' ' || p.last_name, '') as name
    from due d join person p on p.account_id = d.account_id and p.id = d.person_id
    where d.account_id = :account and d.id in (:ids)";
const INVITATIONS: &str = "
    select i.id, coalesce(i.email, t.name) as name from invitation i
    left join team t on t.account_id = i.account_id and t.id = i.team_id
    where i.account_id = :account and i.id in (:ids)";
const CLAIMS: &str = "
    select c.id, u.name from claim c join app_user u on u.id = c.user_id
    where c.account_id = :account and c.id in (:ids)";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{OrderId, RsvpId};

    #[test]
    fn ids_are_recognized() {
        assert!(is_id(&OrderId::from_bits(7 << 76).to_string()));
        assert_eq!(kind_label(&RsvpId::from_bits(7 << 76).to_string()), Some("Answer"));
        for text in ["", "demo", "team_", "thing_7", "ord_ABC", "a sentence_with more"] {
            assert!(!is_id(text) && kind_label(text).is_none(), "{text}");
        }
    }
}
