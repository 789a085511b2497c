//! When somebody gets which emails: at once, in a daily summary or never, and their quiet hours.
//!
//! The settings of a user apply in all clubs. A person who is not a user has settings in one club.

use std::collections::{BTreeMap, BTreeSet};

use kit::{Id, TimeOfDay, string_enum};
use macros::input;

use crate::accounts::{account, user};
use crate::prelude::*;

/// When the daily summary is sent by default.
const DEFAULT_SUMMARY_AT: TimeOfDay = TimeOfDay::at_hour(18).expect("an hour of the day");

string_enum! {
    /// How often somebody gets emails of a kind.
    pub enum Frequency as EmailFrequency {
        /// As soon as there is something new, except in quiet hours.
        AtOnce = "at_once",
        /// In the daily summary.
        Daily = "daily",
        /// Not by email.
        Never = "never",
    }
}

string_enum! {
    /// What an email is about.
    pub enum EmailKind {
        /// An announcement.
        Announcement = "announcement",
        /// A message in a conversation.
        Conversation = "conversation",
        /// An event was changed, postponed or cancelled.
        EventChange = "event_change",
        /// A reminder about an event without an answer.
        RsvpReminder = "rsvp_reminder",
        /// A payment reminder.
        DuesReminder = "dues_reminder",
        /// A message in a conversation with a minor, to the adults who can see it. Always sent at once, also to people who
        /// stopped all other emails.
        Safeguarding = "safeguarding",
        /// A change of a minor's protection or of an account, or an email to admins. Always sent at once, also to people
        /// who stopped all other emails.
        Security = "security",
        /// The daily summary.
        Summary = "summary",
        /// Something else.
        Other = "other",
    }
}
enum_column!(Frequency, EmailKind);

impl EmailKind {
    /// Whether it is sent whatever the recipient has chosen, because it protects a child or an account.
    pub fn is_mandatory(self) -> bool {
        matches!(self, Self::Safeguarding | Self::Security)
    }
}

record! {
    /// Which emails a user, or a person who is not a user, gets, and when.
    #[macros::object("notification_settings")]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    pub struct NotificationSettings in user_notification_settings {
        /// How often you get announcements.
        pub announcements: Frequency,
        /// How often you get messages in conversations. Adults always get messages in a conversation with a minor at once.
        pub conversations: Frequency,
        /// How often you are notified that an event was changed, postponed or cancelled.
        pub event_changes: Frequency,
        /// How often you get reminders about events that you have not answered.
        pub rsvp_reminders: Frequency,
        /// How often you get payment reminders.
        pub dues_reminders: Frequency,
        /// When the daily summary is sent.
        pub summary_at: TimeOfDay,
        /// Start of your quiet hours; `null` if you have none. Only urgent emails are sent in quiet hours, and the others
        /// after them.
        pub quiet_from: Option<TimeOfDay>,
        /// End of your quiet hours. If it is earlier than `quiet_from`, they end on the next day.
        pub quiet_until: Option<TimeOfDay>,
        /// Time zone of these times; `null` for the time zone of the club that sends the email.
        #[schema(value_type = Option<String>, examples("Europe/Lisbon"))]
        pub timezone: Option<Zone>,
        /// When the settings were last changed; `null` if they never were.
        pub updated_at: Option<Timestamp>,
        /// Increases with every change.
        pub version: i64,
    }
}

/// Changes to the settings. Omitted fields stay unchanged; `null` clears a field.
#[input(as = UpdateNotificationSettingsRequest)]
#[derive(Default)]
pub struct NotificationSettingsChange {
    /// How often you get announcements.
    #[input(non_null)]
    pub announcements: Option<Frequency>,
    /// How often you get messages in conversations.
    #[input(non_null)]
    pub conversations: Option<Frequency>,
    /// How often you are notified that an event was changed, postponed or cancelled.
    #[input(non_null)]
    pub event_changes: Option<Frequency>,
    /// How often you get reminders about events that you have not answered.
    #[input(non_null)]
    pub rsvp_reminders: Option<Frequency>,
    /// How often you get payment reminders.
    #[input(non_null)]
    pub dues_reminders: Option<Frequency>,
    /// When the daily summary is sent.
    #[input(parsed("invalid_time", INVALID_TIME), non_null)]
    pub summary_at: Option<TimeOfDay>,
    /// Start of your quiet hours.
    #[input(parsed("invalid_time", INVALID_TIME))]
    pub quiet_from: Change<TimeOfDay>,
    /// End of your quiet hours.
    #[input(parsed("invalid_time", INVALID_TIME))]
    pub quiet_until: Change<TimeOfDay>,
    /// Time zone of these times; `null` for the time zone of the club that sends the email.
    pub timezone: Change<Zone>,
}

const INVALID_TIME: &str = mark!("Use a time on the hour or half hour, such as 22:00 or 06:30.");

/// When an email is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    AtOnce,
    /// After the quiet hours.
    HoldUntil(Timestamp),
    /// In the daily summary that is sent then.
    Summary(Timestamp),
    Never,
}

impl crate::if_match::Versioned for NotificationSettings {
    fn version(&self) -> i64 {
        self.version
    }
}

impl NotificationSettings {
    /// The settings of somebody who has not changed them. Users read conversations in the app.
    pub fn default_for(is_user: bool) -> Self {
        Self {
            announcements: Frequency::AtOnce,
            conversations: if is_user { Frequency::Never } else { Frequency::AtOnce },
            event_changes: Frequency::AtOnce,
            rsvp_reminders: Frequency::AtOnce,
            dues_reminders: Frequency::AtOnce,
            summary_at: DEFAULT_SUMMARY_AT,
            quiet_from: None,
            quiet_until: None,
            timezone: None,
            updated_at: None,
            version: 1,
        }
    }

    /// How often emails of a kind are sent.
    pub fn frequency(&self, kind: EmailKind) -> Frequency {
        match kind {
            EmailKind::Announcement => self.announcements,
            EmailKind::Conversation => self.conversations,
            EmailKind::EventChange => self.event_changes,
            EmailKind::RsvpReminder => self.rsvp_reminders,
            EmailKind::DuesReminder => self.dues_reminders,
            EmailKind::Safeguarding
            | EmailKind::Security
            | EmailKind::Summary
            | EmailKind::Other => Frequency::AtOnce,
        }
    }

    /// When an email of a kind is sent. `club` is the time zone of the club that sends it.
    pub fn delivery(
        &self,
        kind: EmailKind,
        is_urgent: bool,
        club: &Zone,
        now: Timestamp,
    ) -> Delivery {
        let zone = self.timezone.as_ref().unwrap_or(club);
        let is_urgent = is_urgent || kind.is_mandatory();
        match self.frequency(kind) {
            Frequency::Never => Delivery::Never,
            _ if is_urgent => Delivery::AtOnce,
            Frequency::AtOnce => {
                let end = self.quiet_end(zone, now).filter(|end| *end > now);
                end.map_or(Delivery::AtOnce, Delivery::HoldUntil)
            }
            Frequency::Daily => {
                let at = self.next_summary(zone, now);
                Delivery::Summary(self.quiet_end(zone, at).map_or(at, |end| end.max(at)))
            }
        }
    }

    /// The end of the quiet hours, if this moment is in them.
    fn quiet_end(&self, zone: &Zone, moment: Timestamp) -> Option<Timestamp> {
        let (from, until) = self.quiet_from.zip(self.quiet_until)?;
        let local = zone.local(moment);
        let time = TimeOfDay::of(local);
        let day = match (from <= time, time < until) {
            (true, true) => local.day(),
            (false, true) if from > until => local.day(),
            (true, false) if from > until => local.day().plus_days(1)?,
            _ => return None,
        };
        zone.resolve(until.on(day))
    }

    /// When the next daily summary is sent, ignoring quiet hours.
    fn next_summary(&self, zone: &Zone, now: Timestamp) -> Timestamp {
        let today = zone.day(now);
        let days = [Some(today), today.plus_days(1)].into_iter().flatten();
        let mut times = days.filter_map(|day| zone.resolve(self.summary_at.on(day)));
        times.find(|at| *at > now).unwrap_or(now)
    }

    fn apply(&self, change: NotificationSettingsChange) -> Result<Self> {
        let after = Self {
            announcements: change.announcements.unwrap_or(self.announcements),
            conversations: change.conversations.unwrap_or(self.conversations),
            event_changes: change.event_changes.unwrap_or(self.event_changes),
            rsvp_reminders: change.rsvp_reminders.unwrap_or(self.rsvp_reminders),
            dues_reminders: change.dues_reminders.unwrap_or(self.dues_reminders),
            summary_at: change.summary_at.unwrap_or(self.summary_at),
            quiet_from: change.quiet_from.apply(self.quiet_from),
            quiet_until: change.quiet_until.apply(self.quiet_until),
            timezone: change.timezone.apply(self.timezone.clone()),
            ..self.clone()
        };
        let (pointer, detail) = match (after.quiet_from, after.quiet_until) {
            (None, Some(_)) => ("/quiet_from", "Enter when the quiet hours begin."),
            (Some(_), None) => ("/quiet_until", "Enter when the quiet hours end."),
            (Some(from), Some(until)) if from == until => {
                ("/quiet_until", "Quiet hours cannot begin and end at the same time.")
            }
            _ => return Ok(after),
        };
        Err(Error::invalid(vec![Fault::new(pointer, "invalid_quiet_hours", detail)]))
    }

    fn next_version(self, now: Timestamp) -> Self {
        Self { updated_at: Some(now), version: self.version + 1, ..self }
    }
}

/// The columns of both tables.
const COLUMNS: &str = "announcements, conversations, event_changes, rsvp_reminders, dues_reminders,
    summary_at, quiet_from, quiet_until, timezone, updated_at, version";
const VALUES: &str = ":announcements, :conversations, :event_changes, :rsvp_reminders,
    :dues_reminders, :summary_at, :quiet_from, :quiet_until, :timezone, :updated_at, :version";

/// The settings of a user.
pub fn find_for_user(db: &Reader<'_>, user: UserId) -> Result<NotificationSettings> {
    let text = sql!(NotificationSettings::SELECT, " where user_id = :user /* any account */");
    let saved = db.optional(text, bind! { user })?;
    Ok(saved.unwrap_or_else(|| NotificationSettings::default_for(true)))
}

/// The settings of a person who is not a user.
pub fn find_for_person(db: &Reader<'_>, person: PersonId) -> Result<NotificationSettings> {
    let text = sql!(
        "select ",
        COLUMNS,
        " from person_notification_settings where account_id = :account and person_id = :person"
    );
    let saved = db.optional(text, bind! { person })?;
    Ok(saved.unwrap_or_else(|| NotificationSettings::default_for(false)))
}

/// Changes the settings of a user.
pub fn change_for_user(
    tx: &Tx<'_>,
    user: UserId,
    expected: &IfMatch,
    change: NotificationSettingsChange,
) -> Result<NotificationSettings> {
    user::lock(tx, user)?;
    let before = expected.check(find_for_user(tx, user))?;
    let after = before.apply(change)?;
    if after == before {
        return Ok(before);
    }
    let after = after.next_version(tx.now());
    let delete = "delete from user_notification_settings where user_id = :user /* any account */";
    tx.execute(delete, bind! { user })?;
    let insert = sql!(
        "insert into user_notification_settings (user_id, ",
        COLUMNS,
        ") values (:user, ",
        VALUES,
        ") /* any account */"
    );
    tx.execute(insert, &[bind! { user }.to_vec(), after.bind()].concat())?;
    Ok(after)
}

/// Changes the settings of a person who is not a user.
pub fn change_for_person(
    tx: &Tx<'_>,
    person: PersonId,
    change: NotificationSettingsChange,
) -> Result<NotificationSettings> {
    let before = find_for_person(tx, person)?;
    let after = before.apply(change)?;
    if after == before {
        return Ok(before);
    }
    let after = after.next_version(tx.now());
    delete_for_person(tx, person)?;
    let insert = sql!(
        "insert into person_notification_settings (account_id, person_id, ",
        COLUMNS,
        ") values (:account, :person, ",
        VALUES,
        ")"
    );
    tx.execute(insert, &[bind! { person }.to_vec(), after.bind()].concat())?;
    tx.audit("person.notification_settings_changed", &person.to_string(), &json!({}))?;
    Ok(after)
}

/// Deletes the settings of a person who is not a user.
pub fn delete_for_person(tx: &Tx<'_>, person: PersonId) -> Result<()> {
    tx.execute(
        "delete from person_notification_settings
         where account_id = :account and person_id = :person",
        bind! { person },
    )?;
    Ok(())
}

/// Moves the settings to another record of the same person, unless that has settings of its own.
pub fn move_to_person(tx: &Tx<'_>, from: PersonId, into: PersonId) -> Result<()> {
    let has_own = tx.exists(
        "select person_id from person_notification_settings
         where account_id = :account and person_id = :into",
        bind! { into },
    )?;
    if has_own {
        return delete_for_person(tx, from);
    }
    tx.execute(
        "update person_notification_settings set person_id = :into, version = version + 1
         where account_id = :account and person_id = :from",
        bind! { from, into },
    )?;
    Ok(())
}

/// When an email to a person is sent.
pub fn delivery(
    db: &Reader<'_>,
    person: PersonId,
    kind: EmailKind,
    is_urgent: bool,
) -> Result<Delivery> {
    let settings = RecipientSettings::load(db, [person])?;
    Ok(settings.delivery(person, kind, is_urgent))
}

/// The settings of the recipients of emails.
pub struct RecipientSettings {
    people: BTreeMap<PersonId, NotificationSettings>,
    /// The time zone of the club.
    zone: Zone,
    now: Timestamp,
}

/// Settings with the id of the user or person.
struct OwnedSettings<K>(Id<K>, NotificationSettings);

impl<K> store::Record for OwnedSettings<K> {
    fn read(row: &mut store::Row<'_>) -> store::Result<Self> {
        Ok(Self(row.take_any()?, NotificationSettings::read(row)?))
    }
}

impl RecipientSettings {
    /// Reads the settings of these people.
    pub fn load(db: &Reader<'_>, people: impl IntoIterator<Item = PersonId>) -> Result<Self> {
        let zone = account::find(db)?.timezone;
        let ids: BTreeSet<_> = people.into_iter().collect();
        let ids: Vec<_> = ids.into_iter().collect();
        let mut loaded = Self { people: BTreeMap::new(), zone, now: db.now() };
        if ids.is_empty() {
            return Ok(loaded);
        }
        let people: Vec<(PersonId, Option<UserId>)> = db.all(
            "select id, user_id from person where account_id = :account and id in (:ids)",
            bind! { ids },
        )?;
        let users: Vec<_> = people.iter().filter_map(|(_, user)| *user).collect();
        let of_users = if users.is_empty() { BTreeMap::new() } else { load_users(db, users)? };
        let text = sql!(
            "select person_id, ",
            COLUMNS,
            " from person_notification_settings where account_id = :account and person_id in (:ids)"
        );
        let of_people: Vec<OwnedSettings<_>> = db.all(text, bind! { ids })?;
        let of_people: BTreeMap<_, _> =
            of_people.into_iter().map(|OwnedSettings(id, settings)| (id, settings)).collect();
        for (id, user) in people {
            let settings = match user {
                Some(user) => of_users.get(&user),
                None => of_people.get(&id),
            };
            let default = || NotificationSettings::default_for(user.is_some());
            loaded.people.insert(id, settings.cloned().unwrap_or_else(default));
        }
        Ok(loaded)
    }

    /// When an email to a person is sent.
    pub fn delivery(&self, person: PersonId, kind: EmailKind, is_urgent: bool) -> Delivery {
        let delivery = |settings: &NotificationSettings| {
            settings.delivery(kind, is_urgent, &self.zone, self.now)
        };
        self.people.get(&person).map_or(Delivery::AtOnce, delivery)
    }

    /// How often a person gets emails of a kind.
    pub fn frequency(&self, person: PersonId, kind: EmailKind) -> Frequency {
        self.people.get(&person).map_or(Frequency::AtOnce, |settings| settings.frequency(kind))
    }
}

fn load_users(
    db: &Reader<'_>,
    users: Vec<UserId>,
) -> Result<BTreeMap<UserId, NotificationSettings>> {
    let text = sql!(
        "select user_id, ",
        COLUMNS,
        " from user_notification_settings where user_id in (:users) /* any account */"
    );
    let all: Vec<OwnedSettings<_>> = db.all(text, bind! { users })?;
    Ok(all.into_iter().map(|OwnedSettings(id, settings)| (id, settings)).collect())
}

#[cfg(test)]
mod tests;
