//! Lists of products, with filters.

use kit::text;
use macros::query;

use super::product::{self, Product, ProductRecord, Status};
use crate::paging::page_sql;
use crate::prelude::*;

/// Filter for a list of products.
#[query(items = "products")]
#[derive(Default)]
pub struct ProductFilter {
    /// Only objects of these teams, separated by commas; at most 50.
    #[param(several(team_ids))]
    pub team_id: Option<TeamId>,
    /// The teams; empty if there are fewer than two.
    #[param(skip)]
    pub team_ids: Vec<TeamId>,
    /// Filter by status: `active` (default), `archived` or `all`.
    #[param(or_all(Status::Active))]
    pub status: Option<Status>,
    /// Only products that are on sale now (`true`) or are not (`false`).
    pub on_sale: Option<bool>,
    /// Only the product with this ID in another system.
    #[param(line(120))]
    pub external_id: Option<String>,
    pub updated_since: Option<Timestamp>,
    /// Only products whose name contains this text (case-insensitive).
    #[param(line(120))]
    pub q: Option<String>,
}

/// A page of products, in order of creation.
pub fn list(
    db: &Reader<'_>,
    access: &TeamAccess,
    filter: &ProductFilter,
    page: &Page<ProductId>,
) -> Result<Vec<Product>> {
    let ProductFilter { team_id, team_ids, status, on_sale, external_id, .. } = filter;
    let (several_teams, updated_since) = (!team_ids.is_empty(), filter.updated_since);
    let pattern = filter.q.as_deref().map(text::contains_pattern);
    let (after, limit) = page.bounds();
    let (narrowed, teams) = access.team_filter();
    let text = page_sql!(page, ProductRecord::SELECT, FILTER);
    let params = bind! { after, limit, team_id, several_teams, team_ids, status, on_sale,
    external_id, updated_since, pattern, narrowed, teams };
    product::with_variants(db, db.all(text, params)?)
}

const FILTER: &str = "
    where account_id = :account
      and (not cast(:narrowed as boolean) or team_id is null or team_id in (:teams))
      and (cast(:team_id as bytea) is null or team_id = :team_id)
      and (not cast(:several_teams as boolean) or team_id in (:team_ids))
      and (cast(:status as text) is null or status = :status)
      and (cast(:external_id as text) is null or external_id = :external_id)
      and (cast(:updated_since as bigint) is null or updated_at >= :updated_since)
      and (cast(:pattern as text) is null or name_folded like :pattern escape '\\')
      and (cast(:on_sale as boolean) is null or cast(:on_sale as boolean) = (
              status = 'active' and (on_sale_from is null or on_sale_from <= :now)
              and (on_sale_until is null or on_sale_until > :now)))";
