//! Who would receive a message, and how, before it is posted. The recipients come from the same code that posts.

use std::collections::{BTreeMap, BTreeSet};

use super::emails;
use super::message::NewMessage;
use super::people::{self, TeamMember};
use super::posting::{self, PreparedMessage};
use crate::prelude::*;
use crate::rights::SenderIdentity;
use crate::roster::membership::Role;
use crate::roster::person::{self, Person};

/// How many people would receive a message.
#[macros::object("message_preview")]
#[derive(Debug, Serialize, ToSchema)]
pub struct MessagePreview {
    /// Number of recipients. Each person counts once, in one of the next three numbers.
    #[schema(examples(34))]
    pub recipients: i64,
    /// Number of recipients who are players of the team.
    #[schema(examples(10))]
    pub players: i64,
    /// Number of recipients who are guardians and not on the team themselves.
    #[schema(examples(22))]
    pub guardians: i64,
    /// Number of recipients who are coaches, managers or other staff of the team.
    #[schema(examples(2))]
    pub staff: i64,
    /// Number of guardians who receive the message only because a minor does.
    #[schema(examples(0))]
    pub added_guardians: i64,
    /// Number of families on the team. Players with a guardian in common are one family.
    #[schema(examples(18))]
    pub families: i64,
    /// Number of families in which somebody can read the message. For callers who do not manage the team, number of
    /// families in which somebody receives it.
    #[schema(examples(18))]
    pub families_reached: i64,
    /// Number of emails. Recipients with the same address get one email. 0 for callers who do not manage the team.
    #[schema(examples(30))]
    pub emails: i64,
    /// Number of recipients who cannot read the message: they get no email and do not sign in, and no guardian of theirs
    /// receives it either. 0 for callers who do not manage the team.
    #[schema(examples(1))]
    pub unreachable: i64,
}

/// What a recipient is on the team.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    Staff,
    Player,
    Guardian,
}

/// How a recipient can read the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Channel {
    /// By email, and also here if they sign in.
    Email,
    /// Only here, after signing in.
    App,
    /// Through a guardian who also receives it.
    Guardian,
    /// Not at all.
    None,
}

/// A recipient of the message.
#[derive(Debug)]
pub struct Recipient {
    pub person: Person,
    pub group: Group,
    pub channel: Channel,
}

/// Who would receive one or several messages.
#[derive(Debug, Default)]
pub struct Preview {
    pub recipients: BTreeMap<PersonId, Recipient>,
    /// Each minor for whom guardians are added, with those guardians.
    pub added: BTreeMap<PersonId, BTreeSet<PersonId>>,
    /// The minors of `added`.
    pub minors: BTreeMap<PersonId, Person>,
    /// Whether the caller may see the private data of everybody on the teams.
    pub is_team_visible: bool,
    /// The people of each family on the team: players and their guardians.
    families: Vec<BTreeSet<PersonId>>,
    /// The authors, who know the message without receiving it.
    authors: BTreeSet<PersonId>,
    emails: usize,
}

/// Determines who would receive this message. Fails if it could not be posted.
pub fn load(
    db: &Reader<'_>,
    access: &TeamAccess,
    sender: &SenderIdentity,
    new: NewMessage,
) -> Result<Preview> {
    let prepared = posting::prepare(db, access, sender, MessageId::MIN, new)?;
    let is_team_visible = access.has_full_access(prepared.team.id);
    Ok(Preview { is_team_visible, ..of_prepared(db, &prepared)? })
}

fn of_prepared(db: &Reader<'_>, prepared: &PreparedMessage) -> Result<Preview> {
    let PreparedMessage { draft, team, recipients } = prepared;
    let members = people::team_members(db, team.id)?;
    let mut added: BTreeMap<PersonId, BTreeSet<PersonId>> = BTreeMap::new();
    for one in &recipients.added {
        added.entry(one.person_id).or_default().insert(one.guardian_id);
    }
    let emailed = emails::email_recipients(db, draft.kind, recipients)?;
    let addresses: BTreeSet<_> =
        emailed.iter().filter_map(|(one, _)| one.email_folded.clone()).collect();
    let minors = person::find_many(db, added.keys().copied().collect())?;
    let people = person::find_many(db, recipients.people.iter().copied().collect())?;
    let own_channel = |person: &Person| {
        let gets_email = person.email_folded.as_ref().is_some_and(|one| addresses.contains(one));
        let signs_in = person.user_id.is_some().then_some(Channel::App);
        if gets_email { Some(Channel::Email) } else { signs_in }
    };
    let can_read = |id: &PersonId| people.get(id).is_some_and(|one| own_channel(one).is_some());
    let guardians = people::guardians(db, &recipients.people)?.into_iter();
    let reading = guardians.filter(|one| can_read(&one.guardian_id));
    let with_guardian: BTreeSet<_> = reading.map(|one| one.person_id).collect();
    let recipient = |person: Person| {
        let by_guardian = || with_guardian.contains(&person.id).then_some(Channel::Guardian);
        let channel = own_channel(&person).or_else(by_guardian).unwrap_or(Channel::None);
        (person.id, Recipient { group: group_of(&members, person.id), person, channel })
    };
    Ok(Preview {
        recipients: people.values().cloned().map(recipient).collect(),
        added,
        minors,
        is_team_visible: false,
        families: families(db, &members)?,
        authors: draft.author_person_id.into_iter().collect(),
        emails: emailed.len(),
    })
}

/// What a person is on the team. Staff who also play count as staff.
fn group_of(members: &[TeamMember], person: PersonId) -> Group {
    let roles = members.iter().filter(|one| one.person_id == person).map(|one| one.role);
    let groups = roles.map(|role| if role == Role::Player { Group::Player } else { Group::Staff });
    groups.min().unwrap_or(Group::Guardian)
}

/// The families on a team: its players with their guardians.
fn families(db: &Reader<'_>, members: &[TeamMember]) -> Result<Vec<BTreeSet<PersonId>>> {
    let players = members.iter().filter(|one| one.present && one.role == Role::Player);
    let players: BTreeSet<_> = players.map(|one| one.person_id).collect();
    let guardians = people::guardians(db, &players)?;
    let with_guardians = |player: PersonId| -> BTreeSet<_> {
        let own = guardians.iter().filter(|one| one.person_id == player);
        own.map(|one| one.guardian_id).chain([player]).collect()
    };
    Ok(join_families(players.into_iter().map(with_guardians)))
}

/// Joins families that have somebody in common.
fn join_families(parts: impl IntoIterator<Item = BTreeSet<PersonId>>) -> Vec<BTreeSet<PersonId>> {
    let mut families: Vec<BTreeSet<PersonId>> = Vec::new();
    for mut family in parts {
        families.retain(|other| {
            let is_other = other.is_disjoint(&family);
            if !is_other {
                family.extend(other);
            }
            is_other
        });
        families.push(family);
    }
    families
}

impl Preview {
    /// Adds the recipients of another message, for another team. People who receive both count once.
    pub fn add(&mut self, other: Self) {
        for (id, recipient) in other.recipients {
            self.recipients.entry(id).or_insert(recipient);
        }
        for (child, guardians) in other.added {
            self.added.entry(child).or_default().extend(guardians);
        }
        self.is_team_visible &= other.is_team_visible;
        self.minors.extend(other.minors);
        self.authors.extend(other.authors);
        self.emails += other.emails;
        let families = std::mem::take(&mut self.families).into_iter().chain(other.families);
        self.families = join_families(families);
    }

    /// The numbers, for the API and the pages. Families do not learn who has an email address.
    pub fn counts(&self) -> MessagePreview {
        let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let of_group = |group| self.recipients.values().filter(|one| one.group == group).count();
        let can_read = |one: &Recipient| !self.is_team_visible || one.channel != Channel::None;
        let reaches = |person: &PersonId| {
            self.recipients.get(person).is_some_and(can_read) || self.authors.contains(person)
        };
        let reached_families =
            self.families.iter().filter(|family| family.iter().any(reaches)).count();
        let added: BTreeSet<_> = self.added.values().flatten().collect();
        let unreachable = self.recipients.values().filter(|one| one.channel == Channel::None);
        let for_staff = |number| if self.is_team_visible { count(number) } else { 0 };
        MessagePreview {
            recipients: count(self.recipients.len()),
            players: count(of_group(Group::Player)),
            guardians: count(of_group(Group::Guardian)),
            staff: count(of_group(Group::Staff)),
            added_guardians: count(added.len()),
            families: count(self.families.len()),
            families_reached: count(reached_families),
            emails: for_staff(self.emails),
            unreachable: for_staff(unreachable.count()),
        }
    }
}
