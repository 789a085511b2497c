-- Money: what is sold, what is owed, what was paid. Amounts are whole minor units of their currency.

-- How an account handles money.
create table money_settings (
    account_id bytea not null,
    currency text not null,
    -- How long an unpaid order keeps its stock; null for ever.
    order_hold_minutes bigint,
    -- Days before (negative) and after the due date on which families are reminded, separated by spaces.
    reminder_days text not null,
    -- The number of the last order.
    order_number bigint not null,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint money_settings_pkey primary key (account_id),
    constraint money_settings_account_id_fkey foreign key (account_id) references account (id) on delete cascade
);

-- The ledger: every movement is some entries that sum to nothing. Nothing is ever changed or removed.
create table ledger_entry (
    account_id bytea not null,
    movement_id bytea not null,
    line bigint not null,
    -- What moved it, such as `payment`.
    kind text not null,
    -- What it is about: the id of an order or a due.
    subject text not null,
    -- The part of it, such as the payment that is refunded.
    reference text,
    team_id bytea,
    -- Whose it is, and who pays for them. Erasing a person leaves the amounts.
    person_id bytea,
    payer_id bytea,
    book text not null,
    currency text not null,
    -- What comes into the book is positive, what goes out of it negative.
    amount bigint not null,
    actor text not null,
    created_at bigint not null,
    constraint ledger_entry_pkey primary key (account_id, movement_id, line),
    constraint ledger_entry_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint ledger_entry_amount_check check (amount <> 0)
);
create index ledger_entry_account_id_subject_idx on ledger_entry (account_id, subject);
-- A statement is read from these alone.
create index ledger_entry_account_id_payer_id_idx on ledger_entry (account_id, payer_id, currency, book, kind, team_id, amount);
create index ledger_entry_account_id_team_id_idx on ledger_entry (account_id, team_id, payer_id, currency, kind, book, amount)
    where book in ('owed', 'credit', 'dues', 'late_fees', 'discounts', 'waived');
create index ledger_entry_account_id_credit_idx on ledger_entry (account_id, payer_id, currency, amount) where book = 'credit';

-- Something that can be bought.
create table product (
    account_id bytea not null,
    id bytea not null,
    team_id bytea,
    name text not null,
    name_folded text not null,
    description text,
    currency text not null,
    price bigint not null,
    tax_rate_bp bigint not null,
    tax_included boolean not null,
    -- How many are left, where there are no variants; null without limit.
    stock bigint,
    on_sale_from bigint,
    on_sale_until bigint,
    -- Who may buy it.
    buyers text not null,
    most_per_order bigint,
    pick_up_on text,
    status text not null,
    external_id text,
    metadata text not null,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint product_pkey primary key (account_id, id),
    constraint product_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint product_team_id_fkey foreign key (account_id, team_id) references team (account_id, id) on delete cascade,
    constraint product_price_check check (price >= 0),
    constraint product_stock_check check (stock >= 0),
    constraint product_buyers_check check (buyers in ('everyone', 'members', 'staff')),
    constraint product_status_check check (status in ('active', 'archived'))
);
create unique index product_account_id_external_id_key on product (account_id, external_id);
create index product_account_id_team_id_idx on product (account_id, team_id, id);

-- A size, a colour. One that is no longer offered stays for the orders that name it.
create table variant (
    account_id bytea not null,
    id bytea not null,
    product_id bytea not null,
    position bigint not null,
    name text not null,
    -- Null for the product's.
    price bigint,
    stock bigint,
    status text not null,
    constraint variant_pkey primary key (account_id, id),
    constraint variant_product_id_fkey foreign key (account_id, product_id) references product (account_id, id) on delete cascade,
    constraint variant_price_check check (price >= 0),
    constraint variant_stock_check check (stock >= 0),
    constraint variant_status_check check (status in ('active', 'archived'))
);
create index variant_account_id_product_id_idx on variant (account_id, product_id, position);

-- A code that makes an order cheaper.
create table discount (
    account_id bytea not null,
    id bytea not null,
    code text not null,
    -- In capitals: codes are the same whatever their case.
    code_folded text not null,
    -- Either an amount of a currency, or a part in basis points.
    amount bigint,
    currency text,
    percent_bp bigint,
    -- Only for what this team sells.
    team_id bytea,
    least_subtotal bigint,
    valid_from bigint,
    valid_until bigint,
    most_uses bigint,
    most_uses_each bigint,
    uses bigint not null,
    status text not null,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint discount_pkey primary key (account_id, id),
    constraint discount_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint discount_team_id_fkey foreign key (account_id, team_id) references team (account_id, id) on delete cascade,
    constraint discount_uses_check check (uses >= 0 and (most_uses is null or uses <= most_uses)),
    constraint discount_status_check check (status in ('active', 'archived'))
);
create unique index discount_account_id_code_folded_key on discount (account_id, code_folded) where status = 'active';

create table shop_order (
    account_id bytea not null,
    id bytea not null,
    -- What people call it.
    number bigint not null,
    team_id bytea,
    buyer_member_id bytea,
    buyer_person_id bytea,
    buyer_name text not null,
    buyer_email text,
    discount_id bytea,
    discount_code text,
    note text,
    currency text not null,
    subtotal bigint not null,
    discount bigint not null,
    tax bigint not null,
    total bigint not null,
    paid bigint not null,
    refunded bigint not null,
    status text not null,
    expires_at bigint,
    paid_at bigint,
    fulfilled_at bigint,
    cancelled_at bigint,
    cancel_reason text,
    external_id text,
    metadata text not null,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint shop_order_pkey primary key (account_id, id),
    constraint shop_order_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint shop_order_status_check check (status in ('placed', 'paid', 'fulfilled', 'cancelled', 'partially_refunded', 'refunded')),
    constraint shop_order_paid_check check (paid >= 0 and refunded >= 0 and refunded <= paid and paid <= total)
);
create unique index shop_order_account_id_number_key on shop_order (account_id, number);
-- Most orders have few of these; a place in an index costs each of them.
create unique index shop_order_account_id_external_id_key on shop_order (account_id, external_id) where external_id is not null;
create index shop_order_account_id_team_id_idx on shop_order (account_id, team_id, id) where team_id is not null;
create index shop_order_account_id_buyer_person_id_idx on shop_order (account_id, buyer_person_id, id) where buyer_person_id is not null;
create index shop_order_account_id_discount_id_idx on shop_order (account_id, discount_id) where discount_id is not null;
create index shop_order_expires_at_idx on shop_order (expires_at) where status = 'placed';

-- A line of an order, with everything as it was when it was ordered.
create table order_line (
    account_id bytea not null,
    order_id bytea not null,
    id bytea not null,
    position bigint not null,
    product_id bytea not null,
    variant_id bytea,
    name text not null,
    variant_name text,
    unit_price bigint not null,
    quantity bigint not null,
    discount bigint not null,
    tax bigint not null,
    tax_rate_bp bigint not null,
    tax_included boolean not null,
    -- What is paid for it: after discount, with tax.
    total bigint not null,
    -- How many the buyer has, how many were taken back or are not wanted any more, and how many of all are on
    -- the shelf again.
    fulfilled bigint not null,
    returned bigint not null,
    restocked bigint not null,
    -- Whether they were taken from a stock that is counted: only then are they put back.
    from_stock boolean not null,
    -- How much was given back for it.
    refunded bigint not null,
    constraint order_line_pkey primary key (account_id, order_id, position),
    constraint order_line_order_id_fkey foreign key (account_id, order_id) references shop_order (account_id, id) on delete cascade,
    constraint order_line_quantity_check check (quantity > 0 and fulfilled >= 0 and returned >= 0 and fulfilled + returned <= quantity and restocked >= 0 and restocked <= quantity),
    constraint order_line_refunded_check check (refunded >= 0 and refunded <= total)
);
-- Not by product: each order would write to another page of such an index, and the lines of a club are soon read.

-- What was charged to a member.
create table due (
    account_id bytea not null,
    id bytea not null,
    -- What was charged together.
    charge_id bytea not null,
    team_id bytea not null,
    member_id bytea not null,
    person_id bytea not null,
    -- Who pays: a guardian, or the person themselves.
    payer_id bytea not null,
    title text not null,
    category text not null,
    note text,
    currency text not null,
    -- As it was charged; what is owed is that, less discount, plus a late fee.
    amount bigint not null,
    discount bigint not null,
    discount_reason text,
    late_fee bigint not null,
    -- What is added once when it is overdue: an amount, or a part in basis points.
    late_fee_amount bigint,
    late_fee_bp bigint,
    late_fee_at bigint,
    -- When it is added, unless something is paid; null if there is none to add any more.
    late_at bigint,
    paid bigint not null,
    waived bigint not null,
    waive_reason text,
    due_on text not null,
    -- The next day on which something must have been paid; null when nothing is open.
    next_due_on text,
    -- When that day ends where the team is.
    overdue_at bigint,
    -- When the last of its days ends there: everything open is overdue from then on.
    ends_at bigint not null,
    status text not null,
    metadata text not null,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint due_pkey primary key (account_id, id),
    constraint due_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint due_team_id_fkey foreign key (account_id, team_id) references team (account_id, id) on delete cascade,
    constraint due_amount_check check (amount > 0 and discount >= 0 and late_fee >= 0 and paid >= 0 and waived >= 0 and paid + waived <= amount - discount + late_fee),
    constraint due_status_check check (status in ('open', 'partially_paid', 'paid', 'waived'))
);
create index due_account_id_team_id_idx on due (account_id, team_id, id);
create index due_account_id_member_id_idx on due (account_id, member_id, id);
create index due_account_id_person_id_idx on due (account_id, person_id, id);
create index due_account_id_payer_id_idx on due (account_id, payer_id, id);
create index due_account_id_charge_id_idx on due (account_id, charge_id, id);
create index due_account_id_team_id_overdue_at_idx on due (account_id, team_id, overdue_at);
create index due_late_at_idx on due (late_at, id);

create table instalment (
    account_id bytea not null,
    due_id bytea not null,
    position bigint not null,
    due_on text not null,
    -- When that day ends where the team is.
    overdue_at bigint not null,
    amount bigint not null,
    constraint instalment_pkey primary key (account_id, due_id, position),
    constraint instalment_due_id_fkey foreign key (account_id, due_id) references due (account_id, id) on delete cascade,
    constraint instalment_amount_check check (amount > 0)
);
create index instalment_account_id_due_on_idx on instalment (account_id, due_on, due_id);

-- Money that came in, for an order or a due, and what was given back of it.
create table payment (
    account_id bytea not null,
    id bytea not null,
    -- The order or due it was made for, and the team that concerns.
    subject text not null,
    team_id bytea,
    payer_id bytea,
    currency text not null,
    amount bigint not null,
    -- As much of it as was more than what was owed, and became a credit.
    credited bigint not null,
    refunded bigint not null,
    method text not null,
    reference text,
    paid_at bigint not null,
    -- The provider's name of it, by which it is given back.
    provider_id text,
    -- Whether the payer's bank asks for it back, and what came of that.
    dispute text,
    actor text not null,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint payment_pkey primary key (account_id, id),
    constraint payment_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint payment_method_check check (method in ('cash', 'transfer', 'card', 'other', 'credit')),
    constraint payment_dispute_check check (dispute in ('open', 'won', 'lost')),
    constraint payment_amount_check check (amount > 0 and credited >= 0 and refunded >= 0 and refunded <= amount)
);
create index payment_account_id_subject_idx on payment (account_id, subject, id);
create unique index payment_account_id_provider_id_key on payment (account_id, provider_id);

-- Money that was given back.
create table refund (
    account_id bytea not null,
    id bytea not null,
    subject text not null,
    team_id bytea,
    payment_id bytea not null,
    currency text not null,
    amount bigint not null,
    -- Which lines of an order it was for, as JSON.
    lines text not null,
    -- How it was given back.
    method text not null,
    reason text,
    -- `done`, or `pending` until the provider has done it; `failed`, and counts no more, if it could not.
    status text not null,
    provider_id text,
    actor text not null,
    created_at bigint not null,
    updated_at bigint not null,
    constraint refund_pkey primary key (account_id, id),
    constraint refund_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint refund_payment_id_fkey foreign key (account_id, payment_id) references payment (account_id, id) on delete cascade,
    constraint refund_method_check check (method in ('cash', 'transfer', 'card', 'other', 'credit')),
    constraint refund_status_check check (status in ('pending', 'done', 'failed')),
    constraint refund_amount_check check (amount > 0)
);
create index refund_account_id_subject_idx on refund (account_id, subject, id);
create index refund_status_idx on refund (status, account_id, id) where status = 'pending';

-- A reminder: never twice for the same day of the schedule.
create table reminder (
    account_id bytea not null,
    due_id bytea not null,
    -- The day it was about, and which day of the schedule it was; by hand, when.
    due_on text not null,
    occasion text not null,
    -- How many were written to: nobody, if none has an address or they had just been.
    letters bigint not null,
    created_at bigint not null,
    constraint reminder_pkey primary key (account_id, due_id, due_on, occasion),
    constraint reminder_due_id_fkey foreign key (account_id, due_id) references due (account_id, id) on delete cascade
);

-- A page of the payment provider on which somebody is to pay by card.
create table checkout (
    account_id bytea not null,
    id bytea not null,
    subject text not null,
    team_id bytea,
    -- What it is for, as the payer reads it.
    title text not null,
    currency text not null,
    amount bigint not null,
    status text not null,
    -- The provider's name of the page, and where it is. Null until the provider has answered.
    session_id text,
    url text,
    payment_id bytea,
    actor text not null,
    expires_at bigint not null,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint checkout_pkey primary key (account_id, id),
    constraint checkout_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint checkout_status_check check (status in ('open', 'paid', 'expired', 'stray'))
);
create index checkout_account_id_subject_idx on checkout (account_id, subject, id);
create index checkout_status_idx on checkout (status, account_id, id) where status = 'open';
create unique index checkout_session_id_key on checkout (session_id);
