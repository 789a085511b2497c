//! The inputs that create and update a record.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::parse::Parser;
use syn::{Attribute, Error, Expr, Field, Ident, ItemStruct, Meta, Result, Type, parse_quote};

use crate::body;
use crate::field::{Reader, Shape, docs, schema_options};
use crate::options::{Entry, Options};

/// The keys of a schema that limit a value. A record with one of them gets no others.
const LIMITS: [&str; 6] =
    ["min_length", "max_length", "minimum", "maximum", "pattern", "max_items"];

pub(crate) fn expand(options: TokenStream, mut item: ItemStruct) -> Result<TokenStream> {
    let mut options = Options::parse(options)?;
    let create = options.take("create").map(Request::new).transpose()?;
    let update = options.take("update").map(Request::new).transpose()?;
    options.finish()?;
    let mut columns = Vec::new();
    for field in &mut item.fields {
        columns.push(Column::new(field)?);
    }
    let record = item.ident.clone();
    let mut output = quote!(#item);
    if let Some(create) = create {
        let (name, function) = (create.name.clone(), into_record(&record, &columns));
        output.extend(create.declare(&columns, Column::create_field)?);
        output.extend(quote!(impl #name { #function }));
    }
    if let Some(update) = update {
        let function = apply(&update.name, &columns);
        output.extend(update.declare(&columns, Column::update_field)?);
        output.extend(quote!(impl #record { #function }));
    }
    Ok(output)
}

/// The struct that creates or updates a record.
struct Request {
    docs: Vec<Attribute>,
    name: Ident,
    /// The options of its `#[input]`.
    options: Options,
    /// Fields that the record does not have.
    extra: TokenStream,
}

impl Request {
    fn new(entry: Entry) -> Result<Self> {
        let mut options = Options::parse(entry.arguments.unwrap_or_default())?;
        if options.0.is_empty() {
            return Err(Error::new(entry.name.span(), "the name of the struct is missing"));
        }
        let name = options.0.remove(0).name;
        let extra = options.take("extra").and_then(|extra| extra.arguments).unwrap_or_default();
        Ok(Self { docs: entry.docs, name, options, extra })
    }

    fn declare(
        self,
        columns: &[Column],
        field: impl Fn(&Column) -> Option<Field>,
    ) -> Result<TokenStream> {
        let Self { docs, name, options: Options(options), extra } = self;
        let fields = columns.iter().filter_map(field);
        let item = parse_quote!(#(#docs)* pub struct #name { #(#fields,)* #extra });
        let default = default_impl(&item)?;
        let body = body::expand(quote!(#(#options),*), item)?;
        Ok(quote!(#body #default))
    }
}

fn into_record(record: &Ident, columns: &[Column]) -> TokenStream {
    // A resolved input is replaced by the parameter.
    let inputs = columns.iter().filter(|c| c.input.is_some() && !c.is_resolved()).map(|c| &c.name);
    let parameters = columns.iter().filter(|c| c.is_parameter()).map(Column::parameter);
    // The name is visible in `#[value(…)]`, which was written at the same place as the record.
    let tx = Ident::new("tx", record.span());
    let values = columns.iter().filter_map(|column| column.first_value(&tx));
    let names = columns.iter().map(|column| &column.name);
    quote! {
        /// Returns the new record.
        pub fn into_record(self, #tx: &::store::Tx<'_> #(, #parameters)*) -> #record {
            let Self { #(#inputs,)* .. } = self;
            #(#values)*
            #record { #(#names),* }
        }
    }
}

fn apply(change: &Ident, columns: &[Column]) -> TokenStream {
    let resolved = columns.iter().filter(|c| c.is_updated() && c.is_resolved());
    let parameters = resolved.map(Column::parameter);
    let values = columns.iter().filter_map(Column::next_value);
    let derived = columns.iter().filter_map(Column::derived_value);
    let changing = columns.iter().filter(|c| c.is_updated() || c.derived.is_some());
    let names = changing.map(|column| &column.name);
    quote! {
        /// Returns the record with a change.
        pub fn apply(&self, change: #change #(, #parameters)*) -> Self {
            #(#values)*
            #(#derived)*
            Self { #(#names,)* ..self.clone() }
        }
    }
}

/// A field of the record.
struct Column {
    name: Ident,
    ty: Type,
    input: Option<Input>,
    value: Option<Expr>,
    derived: Option<Expr>,
}

/// A field that requests can have.
struct Input {
    /// The options of its `#[input]`.
    options: Vec<Entry>,
    default: Option<TokenStream>,
    is_create_only: bool,
    is_resolved: bool,
    create_docs: Vec<Attribute>,
    update_docs: Vec<Attribute>,
    /// The `#[schema(…)]` of both requests, and the examples of the first.
    schema: TokenStream,
    examples: Option<Entry>,
}

impl Column {
    fn new(field: &mut Field) -> Result<Self> {
        let name = field.ident.clone().ok_or_else(|| Error::new_spanned(&*field, "no name"))?;
        let value = take_expression(&mut field.attrs, "value")?;
        let derived = take_expression(&mut field.attrs, "derived")?;
        let options = Options::take_from(&mut field.attrs, "input")?;
        let input = options.map(|options| Input::new(options, field)).transpose()?;
        Ok(Self { name, ty: field.ty.clone(), input, value, derived })
    }

    fn is_updated(&self) -> bool {
        self.input.as_ref().is_some_and(|input| !input.is_create_only)
    }

    fn is_resolved(&self) -> bool {
        self.input.as_ref().is_some_and(|input| input.is_resolved)
    }

    /// Whether the value of a new record is passed by the caller.
    fn is_parameter(&self) -> bool {
        self.is_resolved() || (self.input.is_none() && self.first_value(&self.name).is_none())
    }

    fn parameter(&self) -> TokenStream {
        let Self { name, ty, .. } = self;
        quote!(#name: #ty)
    }

    /// The value of a new record, if it is not an input.
    fn first_value(&self, tx: &Ident) -> Option<TokenStream> {
        let Self { name, input, value, derived, .. } = self;
        if input.is_some() {
            return None;
        }
        let value = match name.to_string().as_str() {
            _ if value.is_some() => quote!(#value),
            _ if derived.is_some() => quote!(#derived),
            "id" => quote!(#tx.new_id()),
            "account_id" => quote!(#tx.account()),
            "created_at" | "updated_at" => quote!(#tx.now()),
            "version" => quote!(1),
            _ => return None,
        };
        Some(quote!(let #name = #value;))
    }

    /// The value after an update, if it is an input.
    fn next_value(&self) -> Option<TokenStream> {
        let Self { name, ty, .. } = self;
        let input = self.input.as_ref().filter(|i| !i.is_create_only && !i.is_resolved)?;
        let next = match (Shape::of(ty), &input.default) {
            (Shape::Option(_), _) => quote!(change.#name.apply(self.#name.clone())),
            (_, Some(default)) => quote!(change.#name.apply_or(self.#name.clone(), #default)),
            (_, None) => quote!(change.#name.unwrap_or_else(|| self.#name.clone())),
        };
        Some(quote!(let #name = #next;))
    }

    fn derived_value(&self) -> Option<TokenStream> {
        let (name, derived) = (&self.name, self.derived.as_ref()?);
        Some(quote!(let #name = #derived;))
    }

    fn create_field(&self) -> Option<Field> {
        let (name, input) = (&self.name, self.input.as_ref()?);
        let Input { options, create_docs, schema, examples, is_resolved, .. } = input;
        let ty = match Shape::of(&self.ty) {
            Shape::Plain(ty) if *is_resolved => parse_quote!(Option<#ty>),
            _ => self.ty.clone(),
        };
        let examples = examples.as_ref().map(|examples| quote!(#[schema(#examples)]));
        Some(parse_quote! {
            #(#create_docs)* #examples #schema #[input(#(#options),*)] pub #name: #ty
        })
    }

    fn update_field(&self) -> Option<Field> {
        let (name, input) = (&self.name, self.input.as_ref()?);
        if input.is_create_only {
            return None;
        }
        let Input { options, update_docs, schema, is_resolved, default, .. } = input;
        let options = options.iter().filter(|entry| entry.name != "default");
        let (ty, non_null): (Type, _) = match Shape::of(&self.ty) {
            Shape::Plain(ty) if !is_resolved && default.is_none() => {
                (parse_quote!(Option<#ty>), Some(quote!(non_null)))
            }
            Shape::Plain(ty) | Shape::Option(ty) | Shape::Change(ty) => {
                (parse_quote!(::kit::Change<#ty>), None)
            }
        };
        let options = options.map(|entry| quote!(#entry)).chain(non_null);
        Some(parse_quote! {
            #(#update_docs)* #schema #[input(#(#options),*)] pub #name: #ty
        })
    }
}

impl Input {
    /// Also adds the limits to the schema of the record.
    fn new(mut options: Options, field: &mut Field) -> Result<Self> {
        let docs = docs(&field.attrs);
        let both = options.text("doc");
        let create_docs = options.text("create").or_else(|| both.clone());
        let update_docs = options.text("update").or(both);
        let described = |text: Option<String>| match text {
            None => docs.clone(),
            Some(text) if text.is_empty() => Vec::new(),
            Some(text) => vec![parse_quote!(#[doc = #text])],
        };
        let (create_docs, update_docs) = (described(create_docs), described(update_docs));
        let (is_create_only, is_resolved) = (options.flag("create_only"), options.flag("resolved"));
        let has_example = !options.flag("no_example");
        let default = options.0.iter().find(|entry| entry.name == "default");
        let default =
            default.map(|entry| entry.value.clone().unwrap_or_else(|| quote!(Default::default())));
        let mut schema = schema_options(&field.attrs)?;
        let examples = schema.take("examples").filter(|_| has_example);
        let is_limited = schema.0.iter().any(|entry| LIMITS.contains(&&*entry.name.to_string()));
        let rest = schema.0.iter().filter(|entry| !LIMITS.contains(&&*entry.name.to_string()));
        let rest: Vec<_> = rest.collect();
        let schema = (!rest.is_empty()).then(|| quote!(#[schema(#(#rest),*)]));
        if !is_limited {
            let own = ["default", "name", "placeholder"];
            let reader = options.0.iter().position(|e| !own.contains(&&*e.name.to_string()));
            let reader = reader.map(|index| options.0[index].clone());
            let mut reader = Options(reader.into_iter().collect());
            let limits = Reader::take(&mut reader, Shape::of(&field.ty).value())?.limits(false);
            if !limits.is_empty() {
                field.attrs.push(parse_quote!(#[schema(#(#limits),*)]));
            }
        }
        Ok(Self {
            options: options.0,
            default,
            is_create_only,
            is_resolved,
            create_docs,
            update_docs,
            schema: quote!(#schema),
            examples,
        })
    }
}

/// Implements `Default` with the defaults of the fields.
fn default_impl(item: &ItemStruct) -> Result<TokenStream> {
    let (mut names, mut values) = (Vec::new(), Vec::new());
    for field in &item.fields {
        let options = Options::take_from(&mut field.attrs.clone(), "input")?;
        let value = options.unwrap_or_default().value("default");
        values.push(value.unwrap_or_else(|| quote!(Default::default())));
        names.push(&field.ident);
    }
    let name = &item.ident;
    Ok(quote! {
        impl Default for #name {
            fn default() -> Self {
                Self { #(#names: #values),* }
            }
        }
    })
}

/// The expression of `#[name(expression)]`.
fn take_expression(attributes: &mut Vec<Attribute>, name: &str) -> Result<Option<Expr>> {
    let Some(index) = attributes.iter().position(|one| one.path().is_ident(name)) else {
        return Ok(None);
    };
    match attributes.remove(index).meta {
        Meta::List(list) => <Expr as syn::parse::Parse>::parse.parse2(list.tokens).map(Some),
        other => Err(Error::new_spanned(other, format_ident!("{name}").to_string())),
    }
}
