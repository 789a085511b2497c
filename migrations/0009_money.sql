-- Shop, dues and payments. Amounts are integers in minor units of their currency.

-- Payment settings of an account.
create table payment_settings (
    account_id bytea not null,
    currency text not null,
    -- How long an unpaid order reserves its stock; null for unlimited.
    unpaid_order_ttl_minutes bigint,
    -- Days before (negative) and after the due date on which reminders are sent, separated by spaces.
    reminder_days text not null,
    -- The number of the last order.
    order_number bigint not null,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint payment_settings_pkey primary key (account_id),
    constraint payment_settings_account_id_fkey foreign key (account_id) references account (id) on delete cascade
);

-- The double-entry ledger. The entries of a movement add up to zero. Entries are never changed or deleted.
create table ledger_entry (
    account_id bytea not null,
    movement_id bytea not null,
    line bigint not null,
    -- The type of movement, such as `payment`.
    kind text not null,
    -- The id of the order or due.
    subject text not null,
    -- The id of a related object, such as the refunded payment.
    reference text,
    team_id bytea,
    -- The person and the payer. Erasing a person keeps the amounts.
    person_id bytea,
    payer_id bytea,
    book text not null,
    currency text not null,
    -- Positive for amounts that enter the book, negative for amounts that leave it.
    amount bigint not null,
    actor text not null,
    created_at bigint not null,
    constraint ledger_entry_pkey primary key (account_id, movement_id, line),
    constraint ledger_entry_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint ledger_entry_amount_check check (amount <> 0)
);
create index ledger_entry_account_id_subject_idx on ledger_entry (account_id, subject);
-- Covering indexes for statements.
create index ledger_entry_account_id_payer_id_idx on ledger_entry (account_id, payer_id, currency, book, kind, team_id, amount);
create index ledger_entry_account_id_team_id_idx on ledger_entry (account_id, team_id, payer_id, currency, kind, book, amount)
    where book in ('receivable', 'credit', 'dues', 'late_fees', 'discounts', 'waived');
create index ledger_entry_account_id_credit_idx on ledger_entry (account_id, payer_id, currency, amount) where book = 'credit';

-- Products of the shop.
create table product (
    account_id bytea not null,
    id bytea not null,
    team_id bytea,
    name text not null,
    name_folded text not null,
    description text,
    currency text not null,
    price bigint not null,
    tax_rate_bps bigint not null,
    tax_included boolean not null,
    -- The remaining stock of a product without variants; null for unlimited.
    stock bigint,
    on_sale_from bigint,
    on_sale_until bigint,
    -- Who can buy the product.
    available_to text not null,
    max_per_order bigint,
    pickup_date text,
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
    constraint product_available_to_check check (available_to in ('everyone', 'members', 'staff')),
    constraint product_status_check check (status in ('active', 'archived'))
);
create unique index product_account_id_external_id_key on product (account_id, external_id);
create index product_account_id_team_id_idx on product (account_id, team_id, id);

-- Variants of a product, such as sizes and colors. Removed variants are kept for the orders that contain them.
create table variant (
    account_id bytea not null,
    id bytea not null,
    product_id bytea not null,
    position bigint not null,
    name text not null,
    -- Null for the product's price.
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

-- Discount codes.
create table discount (
    account_id bytea not null,
    id bytea not null,
    code text not null,
    -- The code in capital emails, because codes are not case-sensitive.
    code_folded text not null,
    -- Either an amount with its currency, or a rate in basis points.
    amount bigint,
    currency text,
    percent_bps bigint,
    -- Restricts the code to products of this team.
    team_id bytea,
    min_subtotal bigint,
    valid_from bigint,
    valid_until bigint,
    max_uses bigint,
    max_uses_per_buyer bigint,
    use_count bigint not null,
    status text not null,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint discount_pkey primary key (account_id, id),
    constraint discount_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint discount_team_id_fkey foreign key (account_id, team_id) references team (account_id, id) on delete cascade,
    constraint discount_use_count_check check (use_count >= 0 and (max_uses is null or use_count <= max_uses)),
    constraint discount_status_check check (status in ('active', 'archived'))
);
create unique index discount_account_id_code_folded_key on discount (account_id, code_folded) where status = 'active';

create table shop_order (
    account_id bytea not null,
    id bytea not null,
    -- The order number that people see.
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
-- Partial indexes, because most orders have few of these values and each index entry makes an insert slower.
create unique index shop_order_account_id_external_id_key on shop_order (account_id, external_id) where external_id is not null;
create index shop_order_account_id_team_id_idx on shop_order (account_id, team_id, id) where team_id is not null;
create index shop_order_account_id_buyer_person_id_idx on shop_order (account_id, buyer_person_id, id) where buyer_person_id is not null;
create index shop_order_account_id_discount_id_idx on shop_order (account_id, discount_id) where discount_id is not null;
create index shop_order_expires_at_idx on shop_order (expires_at) where status = 'placed';

-- A line of an order, with names and prices at the time of the order.
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
    tax_rate_bps bigint not null,
    tax_included boolean not null,
    -- The total of the line, after discount and including tax.
    total bigint not null,
    -- The quantities that were fulfilled, that were returned or cancelled, and that were restocked.
    fulfilled bigint not null,
    returned bigint not null,
    restocked bigint not null,
    -- Whether the quantity was taken from limited stock. Only then can it be restocked.
    from_stock boolean not null,
    -- The refunded amount.
    refunded bigint not null,
    constraint order_line_pkey primary key (account_id, order_id, position),
    constraint order_line_order_id_fkey foreign key (account_id, order_id) references shop_order (account_id, id) on delete cascade,
    constraint order_line_quantity_check check (quantity > 0 and fulfilled >= 0 and returned >= 0 and fulfilled + returned <= quantity and restocked >= 0 and restocked <= quantity),
    constraint order_line_refunded_check check (refunded >= 0 and refunded <= total)
);
-- There is no index by product: each order would write to several of its pages, and reading all lines of a club is
-- fast.

-- A due of a member.
create table due (
    account_id bytea not null,
    id bytea not null,
    -- The charge: dues that were created together.
    charge_id bytea not null,
    team_id bytea not null,
    member_id bytea not null,
    person_id bytea not null,
    -- The payer: a guardian, or the person themselves.
    payer_id bytea not null,
    title text not null,
    category text not null,
    note text,
    currency text not null,
    -- The amount as charged. The amount owed is this minus the discount plus the late fee.
    amount bigint not null,
    discount bigint not null,
    discount_reason text,
    late_fee bigint not null,
    -- The late fee that is added once when the due is overdue: an amount, or a rate in basis points.
    late_fee_amount bigint,
    late_fee_bps bigint,
    late_fee_at bigint,
    -- When the late fee will be added; null if none will be added.
    late_at bigint,
    paid bigint not null,
    waived bigint not null,
    waive_reason text,
    due_on text not null,
    -- The next due date with an outstanding amount; null if nothing is outstanding.
    next_due_on text,
    -- The end of that day in the team's time zone.
    overdue_at bigint,
    -- The end of the last due date in the team's time zone. All outstanding amounts are overdue after it.
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

create table installment (
    account_id bytea not null,
    due_id bytea not null,
    position bigint not null,
    due_on text not null,
    -- The end of that day in the team's time zone.
    overdue_at bigint not null,
    amount bigint not null,
    constraint installment_pkey primary key (account_id, due_id, position),
    constraint installment_due_id_fkey foreign key (account_id, due_id) references due (account_id, id) on delete cascade,
    constraint installment_amount_check check (amount > 0)
);
create index installment_account_id_due_on_idx on installment (account_id, due_on, due_id);

-- Payments for orders and dues, with the refunded amount.
create table payment (
    account_id bytea not null,
    id bytea not null,
    -- The id of the order or due, and its team.
    subject text not null,
    team_id bytea,
    payer_id bytea,
    currency text not null,
    amount bigint not null,
    -- The part of the amount that exceeded the amount owed and became a credit.
    overpaid bigint not null,
    refunded bigint not null,
    method text not null,
    reference text,
    paid_at bigint not null,
    -- The payment provider's id, which is needed for a refund.
    provider_id text,
    -- The status of a dispute (chargeback), if there is one.
    dispute text,
    actor text not null,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    constraint payment_pkey primary key (account_id, id),
    constraint payment_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint payment_method_check check (method in ('cash', 'bank_transfer', 'card', 'other', 'credit')),
    constraint payment_dispute_check check (dispute in ('open', 'won', 'lost')),
    constraint payment_amount_check check (amount > 0 and overpaid >= 0 and refunded >= 0 and refunded <= amount)
);
create index payment_account_id_subject_idx on payment (account_id, subject, id);
create unique index payment_account_id_provider_id_key on payment (account_id, provider_id);

-- Refunds.
create table refund (
    account_id bytea not null,
    id bytea not null,
    subject text not null,
    team_id bytea,
    payment_id bytea not null,
    currency text not null,
    amount bigint not null,
    -- The refunded lines of an order, as JSON.
    lines text not null,
    -- How the money was refunded.
    method text not null,
    reason text,
    -- `succeeded`, `pending` until the payment provider confirms it, or `failed`. Failed refunds don't count.
    status text not null,
    provider_id text,
    actor text not null,
    created_at bigint not null,
    updated_at bigint not null,
    constraint refund_pkey primary key (account_id, id),
    constraint refund_account_id_fkey foreign key (account_id) references account (id) on delete cascade,
    constraint refund_payment_id_fkey foreign key (account_id, payment_id) references payment (account_id, id) on delete cascade,
    constraint refund_method_check check (method in ('cash', 'bank_transfer', 'card', 'other', 'credit')),
    constraint refund_status_check check (status in ('pending', 'succeeded', 'failed')),
    constraint refund_amount_check check (amount > 0)
);
create index refund_account_id_subject_idx on refund (account_id, subject, id);
create index refund_status_idx on refund (status, account_id, id) where status = 'pending';

-- Payment reminders. At most one per due date and day of the schedule.
create table reminder (
    account_id bytea not null,
    due_id bytea not null,
    -- The due date, and the day of the schedule; for a manual reminder, the time it was sent.
    due_on text not null,
    occasion text not null,
    -- The number of emails; zero if nobody has an address or they were reminded shortly before.
    emails bigint not null,
    created_at bigint not null,
    constraint reminder_pkey primary key (account_id, due_id, due_on, occasion),
    constraint reminder_due_id_fkey foreign key (account_id, due_id) references due (account_id, id) on delete cascade
);

-- Checkout sessions of the payment provider.
create table checkout (
    account_id bytea not null,
    id bytea not null,
    subject text not null,
    team_id bytea,
    -- What the payment is for, as shown to the payer.
    title text not null,
    currency text not null,
    amount bigint not null,
    status text not null,
    -- The payment provider's id and URL of the session. Null until the provider has responded.
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
    constraint checkout_status_check check (status in ('open', 'paid', 'expired', 'unmatched'))
);
create index checkout_account_id_subject_idx on checkout (account_id, subject, id);
create index checkout_status_idx on checkout (status, account_id, id) where status = 'open';
create unique index checkout_session_id_key on checkout (session_id);
