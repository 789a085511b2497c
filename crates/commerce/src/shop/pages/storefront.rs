//! The storefront: the products that a family can buy now or, for staff orders, that the chosen buyer can buy.

use super::checkout_form::{self, CheckoutForm, OrderChannel, person_field, quantity_field};
use super::{BuyerSubmission, BuyerVisitor, money, seller_name, team_names};
use crate::accounts::account;
use crate::accounts::permissions::AccessLevel;
use crate::accounts::roster_access::RosterAccess;
use crate::names::Names;
use crate::prelude::*;
use crate::roster::access;
use crate::roster::person;
use crate::shop::buyer::{self, ResolvedBuyer, TeamMemberships};
use crate::shop::product::{AvailableTo, Product, Status};
use crate::shop::product_listing::{self, ProductFilter};
use crate::teams::header::TeamHeader;
use crate::web::prelude::*;

/// Maximum number of products on the page.
const MAX_PRODUCTS: i64 = 200;

/// A quantity field for a variant, or for a product without variants.
struct QuantityInput {
    field: String,
    label: String,
    price: kit::Money,
    stock: Option<i64>,
    input: String,
}

/// The quantity fields of a product for one person.
struct QuantityGroup {
    /// Name of the field that selects the person; empty for staff orders, where the buyer is already chosen.
    field: String,
    /// The people who may buy the product.
    people: Vec<(PersonId, String)>,
    /// The selected person.
    selected: String,
    quantities: Vec<QuantityInput>,
}

impl QuantityGroup {
    fn new(
        product: &Product,
        number: usize,
        people: &[&FamilyBuyer],
        default: Option<PersonId>,
        input: &CheckoutForm,
    ) -> Self {
        let field =
            if people.is_empty() { String::new() } else { person_field(product.record.id, number) };
        let selected = match input.person_for(&field) {
            "" => default.map(|person| person.to_string()).unwrap_or_default(),
            person => person.to_owned(),
        };
        let people = people.iter().map(|person| (person.id, person.name.clone())).collect();
        Self { field, people, selected, quantities: quantity_inputs(product, number, input) }
    }

    fn is_selected(&self, person: &PersonId) -> bool {
        self.selected == person.to_string()
    }
}

fn quantity_inputs(product: &Product, block: usize, input: &CheckoutForm) -> Vec<QuantityInput> {
    let record = &product.record;
    let quantity_input = |field: String, label: &str, price, stock| QuantityInput {
        input: input.quantity(&field).to_owned(),
        field,
        label: label.to_owned(),
        price: money(price, record.currency),
        stock,
    };
    if product.variants.is_empty() {
        let field = quantity_field(record.id, block, None);
        return vec![quantity_input(field, "", record.price, record.stock)];
    }
    let variants = product.variants.iter().map(|variant| {
        let field = quantity_field(record.id, block, Some(variant.id));
        quantity_input(field, &variant.name, variant.price.unwrap_or(record.price), variant.stock)
    });
    variants.collect()
}

/// A product on the page.
struct ProductCard {
    product: Product,
    groups: Vec<QuantityGroup>,
}

impl ProductCard {
    /// A product in a staff order.
    fn for_staff_order(product: Product, input: &CheckoutForm) -> Self {
        let group = QuantityGroup::new(&product, 0, &[], None, input);
        Self { groups: vec![group], product }
    }

    /// A product for a family; `None` if none of them may buy it. A team's product gets quantity fields for each family
    /// member on the team, a product of the club only once, preselecting the first one who is on any team.
    fn for_family(product: Product, family: &[FamilyBuyer], input: &CheckoutForm) -> Option<Self> {
        let buyers: Vec<_> =
            family.iter().filter(|person| person.memberships.may_buy(&product.record)).collect();
        let first = buyers.first()?.id;
        let team = product.record.team_id;
        let on_team = buyers.iter().filter(|person| person.memberships.is_on_team(team));
        let mut defaults: Vec<_> = on_team.map(|person| person.id).collect();
        if team.is_none() {
            defaults.truncate(1);
        }
        if defaults.is_empty() {
            defaults.push(first);
        }
        let groups = defaults.into_iter().enumerate();
        let groups = groups.map(|(number, person)| {
            QuantityGroup::new(&product, number, &buyers, Some(person), input)
        });
        Some(Self { groups: groups.collect(), product })
    }
}

/// A person of the family with their team memberships.
struct FamilyBuyer {
    id: PersonId,
    name: String,
    memberships: TeamMemberships,
}

/// The data of the page.
struct StorefrontData {
    /// The products of each seller.
    sellers: Vec<(String, Vec<Product>)>,
    /// The visitor and those they look after, if they are on a roster.
    family: Vec<FamilyBuyer>,
    /// Name of the buyer of a staff order.
    buyer: String,
    /// Products that the buyer of a staff order may not buy, with the reason.
    unavailable: Vec<(String, String)>,
    zone: Zone,
}

#[derive(Template)]
#[template(path = "shop/storefront.html")]
struct StorefrontPage {
    frame: Frame,
    /// The header of the team, if only its products are shown.
    header: Option<TeamHeader>,
    channel: OrderChannel,
    /// The products of each seller.
    sections: Vec<(String, Vec<ProductCard>)>,
    /// Everything else on the page. The products are in `sections`.
    data: StorefrontData,
    input: CheckoutForm,
    faults: Faults,
    /// Errors of fields that are no longer on the page.
    other_errors: Vec<String>,
}

/// The access of a user who orders for their family, ignoring the teams they manage.
pub(super) fn family_access(db: &Reader<'_>, user: UserId) -> Result<(TeamAccess, RosterAccess)> {
    let access = access::for_user(db, user)?;
    Ok((family_only_access(&access), access))
}

/// The access of a user limited to their family, ignoring the teams they manage.
pub(super) fn family_only_access(access: &RosterAccess) -> TeamAccess {
    RosterAccess { managed_team_ids: Vec::new(), ..access.clone() }.team_access(AccessLevel::Family)
}

/// The products on sale that the caller may see: of this team only, or of all sellers.
pub(super) fn find_on_sale(
    db: &Reader<'_>,
    access: &TeamAccess,
    team_id: Option<TeamId>,
    limit: i64,
) -> Result<Vec<Product>> {
    let filter = ProductFilter {
        team_id,
        status: Some(Status::Active),
        on_sale: Some(true),
        ..ProductFilter::default()
    };
    let page = Page { limit, order: Order::Asc, last: None };
    product_listing::list(db, access, &filter, &page)
}

/// Groups products by seller.
fn group_by_seller(names: &Names, mut products: Vec<Product>) -> Vec<(String, Vec<Product>)> {
    let mut sellers: Vec<(Option<TeamId>, Vec<Product>)> = Vec::new();
    products.sort_by_key(|product| product.record.team_id);
    for product in products {
        let team = product.record.team_id;
        match sellers.iter_mut().find(|(seller, _)| *seller == team) {
            Some((_, products)) => products.push(product),
            None => sellers.push((team, vec![product])),
        }
    }
    sellers.into_iter().map(|(team, products)| (seller_name(names, team), products)).collect()
}

fn load_for_family(db: &Reader<'_>, user: UserId, team: Option<TeamId>) -> Result<StorefrontData> {
    let (access, roster_access) = family_access(db, user)?;
    let mut family = Vec::new();
    for (id, name) in family_names(db, &roster_access)? {
        let buyer = ResolvedBuyer { member_id: None, person_id: Some(id), name, email: None };
        let memberships = TeamMemberships::load(db, &buyer)?;
        family.push(FamilyBuyer { id, name: buyer.name, memberships });
    }
    let products = find_on_sale(db, &access, team, MAX_PRODUCTS)?;
    let names = team_names(db, products.iter().map(|product| product.record.team_id))?;
    let sellers = group_by_seller(&names, products);
    let zone = account::find(db)?.timezone;
    Ok(StorefrontData { sellers, family, buyer: String::new(), unavailable: Vec::new(), zone })
}

fn load_for_staff_order(
    db: &Reader<'_>,
    person: Option<PersonId>,
    name: String,
) -> Result<StorefrontData> {
    let person = person.map(|person| buyer::find_by_id(db, person)).transpose()?.flatten();
    let buyer = person.unwrap_or_else(|| ResolvedBuyer::by_name(name, None));
    let memberships = TeamMemberships::load(db, &buyer)?;
    let products = find_on_sale(db, &TeamAccess::AllTeams, None, MAX_PRODUCTS)?;
    let names = team_names(db, products.iter().map(|product| product.record.team_id))?;
    let (available, unavailable): (Vec<_>, Vec<_>) =
        products.into_iter().partition(|product| memberships.may_buy(&product.record));
    let unavailable = unavailable.into_iter().map(|product| {
        let reason = restriction_text(&names, &product);
        (product.record.name, reason)
    });
    Ok(StorefrontData {
        unavailable: unavailable.collect(),
        sellers: group_by_seller(&names, available),
        family: Vec::new(),
        buyer: buyer.name,
        zone: account::find(db)?.timezone,
    })
}

/// Who may buy a product that is not for everybody.
fn restriction_text(names: &Names, product: &Product) -> String {
    let team = product.record.team_id.map(|team| names.get_or_id(&team.to_string()).to_owned());
    match (product.record.available_to, team) {
        (AvailableTo::Staff, Some(team)) => t!("Only for coaches and managers of {team}.", team),
        (AvailableTo::Staff, None) => t!("Only for coaches and managers of a team.").to_owned(),
        (_, Some(team)) => t!("Only for members of {team} and their guardians.", team),
        (_, None) => t!("Only for members of a team and their guardians.").to_owned(),
    }
}

/// The names of a user's family, the user first.
fn family_names(db: &Reader<'_>, access: &RosterAccess) -> Result<Vec<(PersonId, String)>> {
    let family = access.family_person_ids();
    let found = person::find_many(db, family.clone())?;
    let names = family
        .into_iter()
        .filter_map(|id| found.get(&id).map(|person| (id, person::display_name(person))));
    Ok(names.collect())
}

pub(super) async fn render_storefront<N: Permission>(
    visitor: &Visitor<N>,
    channel: OrderChannel,
    input: CheckoutForm,
    faults: Faults,
) -> PageResult {
    let user = visitor.visit.user;
    let header = match channel {
        OrderChannel::SelfService => TeamHeader::from_query(visitor).await?,
        OrderChannel::Staff => None,
    };
    let team = header.as_ref().map(|header| header.team.id);
    let (person, name) = (input.buyer_id(), input.name.clone());
    let load = move |db: &Reader<'_>| match channel {
        OrderChannel::SelfService => load_for_family(db, user, team),
        OrderChannel::Staff => load_for_staff_order(db, person, name),
    };
    let mut data = visitor.read(load).await?;
    let sellers = std::mem::take(&mut data.sellers);
    let card = |product: Product| match channel {
        OrderChannel::SelfService => ProductCard::for_family(product, &data.family, &input),
        OrderChannel::Staff => Some(ProductCard::for_staff_order(product, &input)),
    };
    let cards = |products: Vec<Product>| products.into_iter().filter_map(card).collect::<Vec<_>>();
    let sections = sellers.into_iter().map(|(seller, products)| (seller, cards(products)));
    let sections: Vec<_> = sections.filter(|(_, products)| !products.is_empty()).collect();
    let other_errors = errors_off_page(&sections, &faults);
    let title = if channel == OrderChannel::Staff { t!("New order") } else { t!("Store") };
    let code = super::form_status(&faults);
    let frame = channel.frame(visitor, title);
    let page = StorefrontPage {
        frame: team.map_or(frame.clone(), |team| frame.team(team)),
        header,
        channel,
        sections,
        data,
        input,
        faults,
        other_errors,
    };
    super::render(code, &page)
}

/// The errors of fields that are no longer on the page.
fn errors_off_page(sections: &[(String, Vec<ProductCard>)], faults: &Faults) -> Vec<String> {
    let groups =
        || sections.iter().flat_map(|(_, products)| products).flat_map(|product| &product.groups);
    let is_on_page = |field: &str| {
        let about_product = field.starts_with("q-") || field.starts_with("for-");
        !about_product
            || groups().any(|group| {
                group.field == field || group.quantities.iter().any(|input| input.field == field)
            })
    };
    let missing = faults.all().filter(|(field, _)| !is_on_page(field));
    missing.map(|(_, message)| message.to_owned()).collect()
}

pub(super) async fn show(visitor: BuyerVisitor) -> PageResult {
    let (input, faults) = (CheckoutForm::default(), Faults::default());
    render_storefront(&visitor, OrderChannel::SelfService, input, faults).await
}

pub(super) async fn submit(BuyerSubmission { visitor, form }: BuyerSubmission) -> PageResult {
    checkout_form::handle_form(&visitor, &form, OrderChannel::SelfService).await
}
