//! The ids of everything that has one, and the prefix by which each kind is known.

use kit::{Id, Kind};

macro_rules! ids {
    ($($(#[$doc:meta])* $alias:ident = $kind:ident $prefix:literal;)+) => {$(
        $(#[$doc])*
        pub enum $kind {}
        impl Kind for $kind {
            const PREFIX: &'static str = $prefix;
            const NAME: &'static str = stringify!($alias);
        }
        $(#[$doc])*
        pub type $alias = Id<$kind>;
    )+};
}

ids! {
    /// A club or league: the tenant everything belongs to.
    AccountId = AccountKind "acc";
    /// A long-lived API key.
    KeyId = KeyKind "key";
    /// One request, named in every answer, log line and audit entry.
    RequestId = RequestKind "req";
    /// Something that happened, as subscribers are told.
    NotificationId = NotificationKind "ntf";
    /// Somebody who signs in.
    UserId = UserKind "usr";
    /// A browser somebody signed in with.
    SessionId = SessionKind "ses";
    /// A passkey.
    PasskeyId = PasskeyKind "pky";
    /// A question that is answered with a passkey.
    CeremonyId = CeremonyKind "cer";
    /// An invitation into a club.
    InvitationId = InvitationKind "inv";
    /// Somebody's word that they are, or look after, somebody on a roster.
    ClaimId = ClaimKind "clm";
    /// An app that acts for users. It is also the app's `client_id`.
    AppId = AppKind "app";
    /// A secret of an app.
    ClientSecretId = ClientSecretKind "sec";
    /// What an app asked a user for.
    AuthorizationId = AuthorizationKind "oar";
    /// What a user allowed an app.
    GrantId = GrantKind "grt";
    /// A team.
    TeamId = TeamKind "team";
    /// Somebody, kept once whatever teams they are on.
    PersonId = PersonKind "per";
    /// A person on a team's roster.
    MemberId = MemberKind "mem";
    /// A place where events are held.
    LocationId = LocationKind "loc";
    /// An event of a team.
    EventId = EventKind "evt";
    /// Events that were made by one rule.
    SeriesId = SeriesKind "ser";
    /// Something volunteers are needed for at an event.
    DutyId = DutyKind "dut";
    /// A member's answer to an event.
    RsvpId = RsvpKind "rsv";
    /// A calendar that can be subscribed to.
    FeedId = FeedKind "cal";
    /// An announcement or a message.
    MessageId = MessageKind "msg";
    /// A letter in the outbox.
    MailId = MailKind "mail";
    /// Entries of the ledger that belong together.
    MovementId = MovementKind "mov";
    /// Something that can be bought.
    ProductId = ProductKind "prod";
    /// A size or colour of a product.
    VariantId = VariantKind "var";
    /// A code that makes an order cheaper.
    DiscountId = DiscountKind "dsc";
    /// An order.
    OrderId = OrderKind "ord";
    /// A line of an order.
    LineId = LineKind "lin";
    /// What a member owes.
    DueId = DueKind "due";
    /// Dues that were charged together.
    ChargeId = ChargeKind "chg";
    /// Money that came in.
    PaymentId = PaymentKind "pay";
    /// Money that was given back.
    RefundId = RefundKind "ref";
    /// A page on which somebody is to pay by card.
    CheckoutId = CheckoutKind "chk";
    /// Somebody's wish to be told what happens.
    WebhookId = WebhookKind "whk";
    /// One notification on its way to one webhook.
    DeliveryId = DeliveryKind "dlv";
    /// A process that sends what webhooks are told.
    NodeId = NodeKind "node";
}
