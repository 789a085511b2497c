//! Operations of the API.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{
    Error, FnArg, Ident, ItemFn, LitInt, LitStr, Pat, PatType, Path, Result, Token, Type,
    parenthesized, parse_quote,
};

use crate::field::{generic, type_name};
use crate::options::Options;

/// The arguments of the attribute.
pub(crate) struct Endpoint {
    method: Ident,
    path: LitStr,
    responses: Vec<TokenStream>,
    options: Options,
}

impl Parse for Endpoint {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let method = Ident::parse_any(input)?;
        input.parse::<Token![,]>()?;
        let path = input.parse()?;
        let (mut responses, mut options) = (Vec::new(), Options::default());
        while input.parse::<Option<Token![,]>>()?.is_some() && !input.is_empty() {
            if input.peek(LitInt) {
                responses.push(response(input)?);
            } else {
                options.0.push(input.parse()?);
            }
        }
        Ok(Self { method, path, responses, options })
    }
}

/// A response: `200(Type, "description")`, with a media type and an example at the end if it is not JSON.
fn response(input: ParseStream<'_>) -> Result<TokenStream> {
    let status: LitInt = input.parse()?;
    let content;
    parenthesized!(content in input);
    let body: Type = content.parse()?;
    content.parse::<Token![,]>()?;
    let rest = Punctuated::<LitStr, Token![,]>::parse_terminated(&content)?;
    let mut rest = rest.iter();
    let description = rest.next().ok_or_else(|| content.error("missing description"))?;
    let media_type = rest.next().map(|media_type| quote!(content_type = #media_type,));
    // utoipa accepts an example only at the end.
    let example = rest.next().map(|example| quote!(, example = json!(#example)));
    Ok(quote!((status = #status, description = #description, #media_type body = #body #example)))
}

/// What the arguments of a handler say about its operation.
#[derive(Default)]
struct Signature {
    permission: Option<Type>,
    /// The parameters of the path and the query, as utoipa describes them.
    params: Vec<TokenStream>,
    body: Option<Type>,
    /// The media type of the body, if it is not JSON.
    media_type: Option<TokenStream>,
}

pub(crate) fn expand(endpoint: Endpoint, mut function: ItemFn) -> Result<TokenStream> {
    let Endpoint { method, path, responses, mut options } = endpoint;
    let signature = read_signature(&path, &mut function)?;
    let id = options.value("id").ok_or_else(|| Error::new(path.span(), "missing `id`"))?;
    let tag = options.value("tag").ok_or_else(|| Error::new(path.span(), "missing `tag`"))?;
    let params = match options.take("params") {
        Some(params) => params.arguments.unwrap_or_default(),
        None => signature.params.iter().map(|param| quote!(#param,)).collect(),
    };
    let example = options.value("example").map(|example| quote!(, example = #example));
    let media_type = signature.media_type;
    // What the operation changes in the example of its response.
    let outcome = options.value("outcome").map(|fields| quote!(("x-outcome" = #fields)));
    let body =
        signature.body.map(|body| quote!(request_body(content = #body #media_type #example),));
    let scope = signature
        .permission
        .map(|permission| quote!(("x-scope" = json!(crate::web::routes::scope::<#permission>()))));
    let extensions: Vec<_> = [scope, outcome].into_iter().flatten().collect();
    options.finish()?;
    function.attrs.push(parse_quote! {
        #[utoipa::path(#method, path = #path, operation_id = #id, tag = #tag, params(#params),
            #body responses(#(#responses),*), extensions(#(#extensions),*))]
    });
    Ok(function.into_token_stream())
}

/// The type with utoipa's description of a handler, in the same module.
pub(crate) fn description(handler: &Path) -> Path {
    let mut path = handler.clone();
    if let Some(last) = path.segments.last_mut() {
        last.ident = format_ident!("__path_{}", last.ident);
    }
    path
}

/// Wraps the arguments in their extractors. The first ones are the parameters of the path, in its order. Then come the
/// query and the body.
fn read_signature(path: &LitStr, function: &mut ItemFn) -> Result<Signature> {
    let path = path.value();
    let mut placeholders = path.split('{').skip(1).filter_map(|part| part.split('}').next());
    let mut signature = Signature::default();
    let (mut first, mut last) = (Vec::new(), Vec::new());
    let mut ids: Vec<(Box<Pat>, Type)> = Vec::new();
    let mut query: Option<FnArg> = None;
    for argument in std::mem::take(&mut function.sig.inputs) {
        let FnArg::Typed(PatType { pat, ty, .. }) = &argument else {
            return Err(Error::new_spanned(argument, "a handler has no `self`"));
        };
        match type_name(ty).as_str() {
            "Caller" => {
                signature.permission = generic(ty, "Caller");
                first.push(argument);
            }
            "StreamAuth" => first.push(argument),
            "Multipart" => {
                signature.body = generic(ty, "Multipart");
                signature.media_type = Some(quote!(, content_type = "multipart/form-data"));
                last.push(argument);
            }
            "Body" | "OptionalBody" => {
                let content = generic(ty, "OptionalBody").or_else(|| generic(ty, "Body"));
                let content = content.ok_or_else(|| Error::new_spanned(ty, "missing type"))?;
                let has_content = type_name(&content) != "NoBody";
                let optional = quote!(crate::web::body::OptionalBody);
                last.push(match type_name(ty).as_str() {
                    "Body" if has_content => argument.clone(),
                    _ => parse_quote!(#optional(#pat): #optional<#content>),
                });
                signature.body = has_content.then_some(content);
            }
            _ => {
                let is_id = describe_ids(ty, &mut placeholders, &mut signature.params);
                if is_id {
                    ids.push((pat.clone(), (**ty).clone()));
                } else {
                    if query.is_some() {
                        return Err(Error::new_spanned(ty, "there is a query already"));
                    }
                    if type_name(ty) != "NoQuery" {
                        signature.params.push(ty.to_token_stream());
                    }
                    query = Some(
                        parse_quote!(crate::web::query::Query(#pat): crate::web::query::Query<#ty>),
                    );
                }
            }
        }
    }
    if let Some(name) = placeholders.next() {
        return Err(Error::new_spanned(&function.sig, format!("no argument for `{name}`")));
    }
    first.extend(path_argument(&ids));
    let no_query = quote!(crate::web::query::NoQuery);
    first.push(query.unwrap_or_else(
        || parse_quote!(crate::web::query::Query(#no_query): crate::web::query::Query<#no_query>),
    ));
    function.sig.inputs = first.into_iter().chain(last).collect();
    Ok(signature)
}

/// Whether this type is that of the next parameters of the path. Describes them.
fn describe_ids<'a>(
    ty: &Type,
    placeholders: &mut impl Iterator<Item = &'a str>,
    params: &mut Vec<TokenStream>,
) -> bool {
    let types: Vec<_> = match ty {
        Type::Tuple(tuple) => tuple.elems.iter().collect(),
        one => vec![one],
    };
    let names: Vec<_> = placeholders.take(types.len()).collect();
    for (name, ty) in names.iter().zip(types) {
        params.push(quote!((#name = #ty, Path)));
    }
    !names.is_empty()
}

/// The argument with all parameters of the path.
fn path_argument(ids: &[(Box<Pat>, Type)]) -> Option<FnArg> {
    let (patterns, types): (Vec<_>, Vec<_>) = ids.iter().map(|(pat, ty)| (pat, ty)).unzip();
    let path = quote!(crate::web::path::PathParams);
    match ids {
        [] => None,
        [(pat, ty)] => Some(parse_quote!(#path(#pat): #path<#ty>)),
        _ => Some(parse_quote!(#path((#(#patterns),*)): #path<(#(#types),*)>)),
    }
}
