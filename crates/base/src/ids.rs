//! The id types of all objects, with the prefix of each kind.

/// Declares types of ids, with the prefix of each kind. A module can declare those of its own.
#[macro_export]
macro_rules! ids {
    ($($(#[$doc:meta])* $alias:ident = $kind:ident $prefix:literal;)+) => {$(
        $(#[$doc])*
        pub enum $kind {}
        impl ::kit::Kind for $kind {
            const PREFIX: &'static str = $prefix;
            const NAME: &'static str = stringify!($alias);
        }
        $(#[$doc])*
        pub type $alias = ::kit::Id<$kind>;
    )+};
}

ids! {
    /// A club or league: the tenant that all other objects belong to.
    AccountId = AccountKind "acc";
    /// A long-lived API key.
    KeyId = KeyKind "key";
    /// A request, as named in its response, in log lines and in audit entries.
    RequestId = RequestKind "req";
    /// A notification: an entry of the log that webhooks and streams read.
    NotificationId = NotificationKind "ntf";
    /// A user: a person who signs in.
    UserId = UserKind "usr";
    /// A session: a browser in which a user is signed in.
    SessionId = SessionKind "ses";
    /// A passkey.
    PasskeyId = PasskeyKind "pky";
    /// A challenge that a browser answers with a passkey.
    CeremonyId = CeremonyKind "cer";
    /// An invitation to a club.
    InvitationId = InvitationKind "inv";
    /// A request to join: a user's claim to be, or to be the guardian of, a person on a roster.
    ClaimId = ClaimKind "clm";
    /// An app that acts for users. It is also the app's `client_id`.
    AppId = AppKind "app";
    /// A client secret of an app.
    ClientSecretId = ClientSecretKind "sec";
    /// An authorization request of an app.
    AuthorizationId = AuthorizationKind "oar";
    /// The access that a user granted to an app.
    GrantId = GrantKind "grt";
    /// An uploaded file.
    FileId = FileKind "file";
    /// A team.
    TeamId = TeamKind "team";
    /// A person, stored once however many teams they are on.
    PersonId = PersonKind "per";
    /// A person on a team's roster.
    MemberId = MemberKind "mem";
    /// A location of events.
    LocationId = LocationKind "loc";
    /// An event of a team.
    EventId = EventKind "evt";
    /// A series: events that were created from one recurrence rule.
    SeriesId = SeriesKind "ser";
    /// A volunteer duty at an event.
    DutyId = DutyKind "dut";
    /// A member's RSVP to an event.
    RsvpId = RsvpKind "rsv";
    /// A calendar feed.
    FeedId = FeedKind "cal";
    /// An announcement or a message.
    MessageId = MessageKind "msg";
    /// A message template.
    MessageTemplateId = MessageTemplateKind "mtpl";
    /// An outgoing email.
    EmailId = MailKind "mail";
    /// A transaction of the ledger: entries that add up to zero.
    MovementId = MovementKind "mov";
    /// A product of the shop.
    ProductId = ProductKind "prod";
    /// A variant of a product, such as a size or color.
    VariantId = VariantKind "var";
    /// A discount code.
    DiscountId = DiscountKind "dsc";
    /// An order.
    OrderId = OrderKind "ord";
    /// A line of an order.
    LineId = LineKind "lin";
    /// A due: an amount that a member owes.
    DueId = DueKind "due";
    /// A charge: dues that were created together.
    ChargeId = ChargeKind "chg";
    /// A payment.
    PaymentId = PaymentKind "pay";
    /// A refund.
    RefundId = RefundKind "ref";
    /// A checkout session for a card payment.
    CheckoutId = CheckoutKind "chk";
    /// A webhook.
    WebhookId = WebhookKind "whk";
    /// The delivery of one notification to one webhook.
    DeliveryId = DeliveryKind "dlv";
    /// A process that delivers webhooks.
    NodeId = NodeKind "node";
}
