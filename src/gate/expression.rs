//! Which expressions may look at private rows: those that are total. An expression that could raise an error, or do
//! anything else that somebody sees, for one row and not for another, would tell of the row.
//!
//! What may be used is listed; all else is refused. Functions are judged by [`judged`]: some stay, some are replaced by
//! a variant that answers NULL where the function would raise.

use std::rc::Rc;

use pgrx::pg_sys::{self, ArrayExpr, Node, NodeTag, Oid, Query, SubLinkType};

use crate::gate::defence::Defence;
use crate::gate::rejection::{Checked, Reason};
use crate::gate::size;
use crate::pg::constant;
use crate::pg::planning;
use crate::pg::procedure;
use crate::pg::sql_type;
use crate::pg::stack;
use crate::pg::tree::{self, List, Ref};
use crate::safe_functions::classify::Judgement;
use crate::safe_functions::{classify as judged, range as ranges, wrap as variants};

/// OIDs from here on are not PostgreSQL's own.
const FIRST_OF_OTHERS: u32 = 10_000;

/// Whether a type is one that constants are cast from and to by way of text.
fn is_simple(kind: Oid) -> bool {
    let texts = [pg_sys::TEXTOID, pg_sys::VARCHAROID, pg_sys::BPCHAROID];
    texts.contains(&kind) || judged::output_ok(kind)
}

/// What may stand in an expression besides columns and functions, as the query around it decides.
pub trait Surroundings<'t> {
    /// The query around whose column it may name, if it may.
    fn sees(&self, column: Ref<'t, pg_sys::Var>) -> Option<Ref<'t, Query>>;

    /// A sub-query that is not an expression alone, in its safe form.
    fn sublink(
        &self,
        checker: &Checker<'t>,
        link: Ref<'t, pg_sys::SubLink>,
    ) -> Checked<Ref<'t, Node>>;

    /// A call of an aggregate or a window function, in its safe form.
    fn call(&self, checker: &Checker<'t>, node: Ref<'t, Node>) -> Checked<Ref<'t, Node>>;
}

/// Checks expressions over the rows of one query.
pub struct Checker<'t> {
    /// The query whose columns they name; absent: one that has none of private rows.
    pub query: Option<Ref<'t, Query>>,
    /// For computing constants, with the parameters of this execution.
    pub root: Ref<'t, pg_sys::PlannerInfo>,
    /// Absent: columns and functions alone.
    pub around: Option<Rc<dyn Surroundings<'t> + 't>>,
    /// Whether the columns are those of an answer, whose records are of types of ours.
    pub is_of_answers: bool,
}

impl<'t> Checker<'t> {
    /// The expression as it may be computed for private rows.
    ///
    /// Constants are computed first, so that an error in them cannot depend on a row.
    pub fn safe(&self, node: Ref<'t, Node>) -> Checked<Ref<'t, Node>> {
        self.check(self.folded(node.copy()))
    }

    /// As above, for an expression that may be absent.
    pub fn safe_if(&self, node: Option<Ref<'t, Node>>) -> Checked<Option<Ref<'t, Node>>> {
        node.map(|node| self.safe(node)).transpose()
    }

    /// The expression with its constants computed.
    pub fn folded(&self, node: Ref<'t, Node>) -> Ref<'t, Node> {
        tree::fold(Some(self.root), node)
    }

    /// Checks a list in place.
    fn check_list(&self, list: List<'t, Node>) -> Checked<List<'t, Node>> {
        list.into_iter().map(|node| self.check(node)).collect()
    }

    fn check_expr(&self, expr: Option<Ref<'t, Node>>) -> Checked<Option<Ref<'t, Node>>> {
        expr.map(|node| self.check(node)).transpose()
    }

    /// Checks a node and all below it, in place. These are all kinds of nodes that may be used, each with the reason
    /// why it raises nothing.
    fn check(&self, node: Ref<'t, Node>) -> Checked<Ref<'t, Node>> {
        stack::check();
        match node.tag() {
            // A column as it is stored.
            NodeTag::T_Var => self.check_var(node)?,
            // A value that is there; what CASE compares, which was checked above.
            NodeTag::T_Const | NodeTag::T_CaseTestExpr => {}
            NodeTag::T_Param => {
                let param = node.cast::<pg_sys::Param>().expect("its tag");
                if param.paramkind() != pg_sys::ParamKind::PARAM_EXTERN {
                    return Err(correlated("a value"));
                }
            }
            // The time of the transaction; roles, and the database, which are there. But where the search path
            // starts with the schema of temporary tables, CURRENT_SCHEMA makes that schema first, and may not.
            NodeTag::T_SQLValueFunction => {
                let function = node.cast::<pg_sys::SQLValueFunction>().expect("its tag");
                let schema = pg_sys::SQLValueFunctionOp::SVFOP_CURRENT_SCHEMA;
                if function.op() == schema && Defence::Nodes.stands() {
                    return Err(Reason::with_hint(
                        "current_schema cannot be used on its rows",
                        "Write the name of the schema.",
                    ));
                }
            }
            // A field of a record that is there.
            NodeTag::T_FieldSelect if self.is_of_answers => {
                let field = node.cast::<pg_sys::FieldSelect>().expect("its tag");
                field.set_arg(self.check_expr(field.arg())?);
            }
            // Functions, which are judged.
            NodeTag::T_OpExpr | NodeTag::T_DistinctExpr | NodeTag::T_NullIfExpr => {
                return self.check_operator(node);
            }
            NodeTag::T_FuncExpr => return self.check_function(node),
            // A total operator with each element of an array.
            NodeTag::T_ScalarArrayOpExpr => {
                let array = node.cast::<pg_sys::ScalarArrayOpExpr>().expect("its tag");
                check_operator_itself(array.opno())?;
                array.set_args(self.check_list(array.args())?);
                // SAFETY: it fills in a field of a node that lives.
                unsafe { pg_sys::set_sa_opfuncid(array.pointer()) };
                check_collation(array.inputcollid(), array.args())?;
                if !matches!(judge(array.opfuncid(), array.args()), Judgement::Total) {
                    return of_each_element(array);
                }
            }
            // A total comparison.
            NodeTag::T_MinMaxExpr => {
                let expr = node.cast::<pg_sys::MinMaxExpr>().expect("its tag");
                if !is_comparable(expr.minmaxtype()) {
                    return Err(unknown_kind("greatest or least of this type"));
                }
                expr.set_args(self.check_list(expr.args())?);
                check_collation(expr.inputcollid(), expr.args())?;
            }
            NodeTag::T_SubLink => return self.check_sublink(node),
            // Of rows of one person, as the query around it says.
            NodeTag::T_Aggref | NodeTag::T_WindowFunc => match &self.around {
                Some(around) => return around.call(self, node),
                None => return Err(unknown_kind(&tag_name(node))),
            },
            NodeTag::T_CoerceViaIO => return self.check_text(node),
            // Its elements stay as they are: the same bytes are of another type.
            NodeTag::T_ArrayCoerceExpr => {
                let expr = node.cast::<pg_sys::ArrayCoerceExpr>().expect("its tag");
                let element = expr.elemexpr();
                let same = element.and_then(|element| element.cast::<pg_sys::RelabelType>());
                let same = same.and_then(|same| same.arg());
                if !same.is_some_and(|same| same.tag() == NodeTag::T_CaseTestExpr) {
                    return Err(unknown_kind("a cast of an array"));
                }
                expr.set_arg(self.check_expr(expr.arg())?);
            }
            // The same bytes of another type; a COLLATE.
            NodeTag::T_RelabelType => {
                let expr = node.cast::<pg_sys::RelabelType>().expect("its tag");
                expr.set_arg(self.check_expr(expr.arg())?);
            }
            // Which part is computed depends on the rows, and no part raises.
            NodeTag::T_BoolExpr => {
                let expr = node.cast::<pg_sys::BoolExpr>().expect("its tag");
                expr.set_args(self.check_list(expr.args())?);
            }
            NodeTag::T_CoalesceExpr => {
                let expr = node.cast::<pg_sys::CoalesceExpr>().expect("its tag");
                expr.set_args(self.check_list(expr.args())?);
            }
            NodeTag::T_CaseExpr => {
                let expr = node.cast::<pg_sys::CaseExpr>().expect("its tag");
                expr.set_arg(self.check_expr(expr.arg())?);
                expr.set_args(self.check_list(expr.args())?);
                expr.set_defresult(self.check_expr(expr.defresult())?);
            }
            NodeTag::T_CaseWhen => {
                let when = node.cast::<pg_sys::CaseWhen>().expect("its tag");
                when.set_expr(self.check_expr(when.expr())?);
                when.set_result(self.check_expr(when.result())?);
            }
            // A look at whether there is a value. Of a row, its type is looked up first.
            NodeTag::T_NullTest => {
                let expr = node.cast::<pg_sys::NullTest>().expect("its tag");
                if expr.argisrow() && Defence::Nodes.stands() {
                    return Err(unknown_kind("IS NULL of a row"));
                }
                expr.set_arg(self.check_expr(expr.arg())?);
            }
            NodeTag::T_BooleanTest => {
                let expr = node.cast::<pg_sys::BooleanTest>().expect("its tag");
                expr.set_arg(self.check_expr(expr.arg())?);
            }
            // Of values that are together short enough for an array.
            NodeTag::T_ArrayExpr => {
                let expr = node.cast::<ArrayExpr>().expect("its tag");
                // Arrays of different lengths do not make one.
                if expr.multidims() && Defence::Total.stands() {
                    return Err(unknown_kind("an array of arrays"));
                }
                expr.set_elements(self.check_list(expr.elements())?);
                if Defence::Nodes.stands() && !expr.multidims() && !size::is_short_array(expr) {
                    return Err(Reason::with_hint(
                        "an array constructor on its rows may be too large",
                        "Compare with one value after another (a = x OR a = y), or cast the elements to varchar(n).",
                    ));
                }
            }
            NodeTag::T_RowExpr => {
                return Err(Reason::with_hint(
                    "a row of values cannot be used on its rows",
                    "Name its values one by one, as in GROUP BY a, b. To count what is there, make one value of them, \
                     as in count(DISTINCT a || ' ' || b); or count those of each person, as in SELECT count(*) FROM \
                     (SELECT DISTINCT person, a, b FROM ...) s.",
                ));
            }
            _ => return Err(unknown_kind(&tag_name(node))),
        }
        Ok(node)
    }

    fn check_var(&self, node: Ref<'t, Node>) -> Checked<()> {
        let var = node.cast::<pg_sys::Var>().expect("its tag");
        if var.varattno() <= 0 {
            return Err("system columns and whole rows cannot be used".into());
        }
        let query = match var.varlevelsup() {
            0 => self.query,
            _ => {
                let around = self.around.as_ref();
                let outer = around.and_then(|around| around.sees(var));
                Some(outer.ok_or_else(|| correlated("a column"))?)
            }
        };
        if let Some(query) = query {
            let entry = tree::entry(query, var.varno());
            if entry.rtekind() == pg_sys::RTEKind::RTE_RELATION {
                // SAFETY: a lookup in the catalog.
                let generated = unsafe { pg_sys::get_attgenerated(entry.relid(), var.varattno()) };
                if generated as u8 == b'v' {
                    return Err("virtual generated columns cannot be used".into());
                }
            }
        }
        Ok(())
    }

    fn check_operator(&self, node: Ref<'t, Node>) -> Checked<Ref<'t, Node>> {
        let expr = node.operator().expect("its tag");
        expr.set_args(self.check_list(expr.args())?);
        // SAFETY: it fills in a field of a node that lives.
        unsafe { pg_sys::set_opfuncid(expr.pointer()) };
        check_collation(expr.inputcollid(), expr.args())?;
        let safe = match judge(expr.opfuncid(), expr.args()) {
            Judgement::Total => Ok(node),
            Judgement::Partial if node.tag() == NodeTag::T_OpExpr => variant(
                expr.opfuncid(),
                expr.args(),
                expr.opresulttype(),
                expr.opcollid(),
                expr.inputcollid(),
            ),
            Judgement::Refused(why) => Err(refused(expr.opfuncid(), why)),
            Judgement::Partial => Err(not_total(expr.opfuncid())),
        }?;
        check_operator_itself(expr.opno())?;
        Ok(safe)
    }

    /// A value, which is in its safe form, cast to another type: NULL where the cast would raise an error.
    pub fn cast(&self, value: Ref<'t, Node>, wanted: Oid) -> Checked<Ref<'t, Node>> {
        let cast =
            tree::cast(value, wanted).ok_or("a value has no cast to the type of the answer")?;
        match cast.cast::<pg_sys::FuncExpr>() {
            Some(call) => judged_call(call),
            None => Ok(cast),
        }
    }

    fn check_function(&self, node: Ref<'t, Node>) -> Checked<Ref<'t, Node>> {
        let expr = node.cast::<pg_sys::FuncExpr>().expect("its tag");
        if expr.funcretset() {
            return Err("set-returning functions cannot be used".into());
        }
        expr.set_args(self.check_list(expr.args())?);
        check_collation(expr.inputcollid(), expr.args())?;
        judged_call(expr)
    }

    /// A sub-select without FROM is the expression itself.
    fn check_sublink(&self, node: Ref<'t, Node>) -> Checked<Ref<'t, Node>> {
        let link = node.cast::<pg_sys::SubLink>().expect("its tag");
        let refused = || {
            Reason::with_hint(
                "sub-queries cannot be used on its rows",
                "Join the table that it is about, if you may read it; or use it on the result of the query.",
            )
        };
        let query = link
            .subselect()
            .and_then(|query| query.cast::<Query>())
            .ok_or_else(refused)?;
        let targets = query.targetList().nodes();
        let has_quals = query.jointree().is_none_or(|from| from.quals().is_some());
        let is_plain = link.subLinkType() == SubLinkType::EXPR_SUBLINK
            && link.testexpr().is_none()
            && query.rtable().is_empty()
            && query.cteList().is_empty()
            && query.groupClause().is_empty()
            && query.groupingSets().is_empty()
            && query.havingQual().is_none()
            && query.setOperations().is_none()
            && query.limitCount().is_none()
            && query.limitOffset().is_none()
            && !query.hasAggs()
            && !query.hasWindowFuncs()
            && !query.hasTargetSRFs()
            && !has_quals;
        match targets[..] {
            [target] if is_plain => {
                let expr = target.expr().ok_or_else(refused)?.copy();
                // What it names of the queries around is one level nearer now. SAFETY: a copy that nobody else has.
                unsafe { pg_sys::IncrementVarSublevelsUp(expr.pointer(), -1, 1) };
                self.check(self.folded(expr))
            }
            _ => match &self.around {
                Some(around) => around.sublink(self, link),
                None => Err(refused()),
            },
        }
    }

    /// A cast by way of text: of a constant, computed now; else only into text.
    fn check_text(&self, node: Ref<'t, Node>) -> Checked<Ref<'t, Node>> {
        let expr = node.cast::<pg_sys::CoerceViaIO>().expect("its tag");
        let from = expr.arg().expect("a cast has an argument");
        let checked = self.check(from)?;
        expr.set_arg(Some(checked));
        let from = tree::type_of(checked);
        // PostgreSQL folds the way into text first, and leaves the constant as a cstring.
        let is_text = from == pg_sys::CSTRINGOID || is_simple(from);
        if checked.tag() == NodeTag::T_Const && is_simple(expr.resulttype()) && is_text {
            // SAFETY: an expression without columns; an error in it is one of the query, whatever the rows are.
            let value = unsafe {
                let (kind, collation) = (expr.resulttype(), expr.resultcollid());
                let value = pg_sys::evaluate_expr(node.pointer().cast(), kind, -1, collation);
                Ref::of(value.cast())
            };
            return Ok(value.expect("a constant"));
        }
        let to_text = [pg_sys::TEXTOID, pg_sys::VARCHAROID].contains(&expr.resulttype());
        match to_text && judged::output_ok(from) {
            true => Ok(node),
            false if sql_type::is_number(expr.resulttype()) && is_text => Err(Reason::with_hint(
                "a cast through text cannot be used on its rows",
                "Of digits, to_number(x, '999') is the number, or NULL where that is none; or cast the result of the \
                 query instead.",
            )),
            false => Err(Reason::with_hint(
                "a cast through text cannot be used on its rows",
                "Cast the result of the query instead, or let the owner of the table store the column in the \
                 type that you need.",
            )),
        }
    }
}

/// A call whose arguments are in their safe form, or what is in for it.
fn judged_call(call: Ref<pg_sys::FuncExpr>) -> Checked<Ref<Node>> {
    match judge(call.funcid(), call.args()) {
        Judgement::Total => Ok(call.node()),
        Judgement::Partial => variant(
            call.funcid(),
            call.args(),
            call.funcresulttype(),
            call.funccollid(),
            call.inputcollid(),
        ),
        Judgement::Refused(why) => Err(refused(call.funcid(), why)),
    }
}

fn judge(function: Oid, arguments: List<Node>) -> Judgement {
    if !Defence::Total.stands() {
        return Judgement::Total;
    }
    // SAFETY: the arguments of an expression that lives.
    let (judgement, reason) = unsafe {
        let arguments = arguments.pointer();
        let slow = judged::slow_pattern(function, arguments);
        let reason = slow.or_else(|| judged::moving_zone(function, arguments));
        (judged::judge(function, arguments), reason)
    };
    match reason {
        Some(reason) => Judgement::Refused(reason),
        None => judgement,
    }
}

fn variant(
    function: Oid,
    arguments: List<Node>,
    kind: Oid,
    collation: Oid,
    input: Oid,
) -> Checked<Ref<Node>> {
    // SAFETY: the same.
    let node = unsafe {
        let arguments = arguments.pointer();
        let node = variants::variant(function, arguments, kind, collation, input);
        Ref::of(node.map_err(Reason::new)?)
    };
    Ok(node.expect("a call"))
}

/// Checks that a function has a collation that its arguments can be compared by.
pub fn check_collation(collation: Oid, arguments: List<Node>) -> Checked<()> {
    if !Defence::Collation.stands() {
        return Ok(());
    }
    // SAFETY: the same.
    unsafe { judged::collation_ok(collation, arguments.pointer()) }.map_err(Reason::new)
}

/// That a function is refused, with what may be written in its place, where that is known.
fn refused(function: Oid, why: String) -> Reason {
    // SAFETY: a lookup in the catalog; NULL if it is gone.
    let name = unsafe { tree::text_of(pg_sys::get_func_name(function)) };
    let instead = match name.as_str() {
        _ if function.to_u32() >= FIRST_OF_OTHERS => None,
        "concat" | "concat_ws" => {
            Some("Write a || b, or coalesce(a, '') || b where a may be NULL.")
        }
        "format" | "md5" | "sha224" | "sha256" | "sha384" | "sha512" => Some(
            "Use it on the result of the query, as in SELECT md5(x), n FROM (SELECT x, count(*) AS n FROM ... \
             GROUP BY x) s.",
        ),
        "overlaps" => Some(
            "Compare the ends, as in begins < date '2025-04-01' AND ends > date '2025-03-01'; or of one day, \
             day >= date '2025-03-01' AND day < date '2025-04-01'.",
        ),
        "range_contains_elem" | "elem_contained_by_range" => Some(
            "Compare with the ends, as in day >= date '2025-03-01' AND day < date '2025-04-01'.",
        ),
        _ => None,
    };
    match instead {
        Some(hint) => Reason::with_hint(why, hint),
        None => Reason::new(why),
    }
}

fn not_total(function: Oid) -> Reason {
    // SAFETY: a lookup in the catalog, which answers for any number.
    let name = unsafe { tree::text_of(pg_sys::format_procedure(function)) };
    Reason::with_hint(
        format!("function {name} cannot be used on its rows"),
        "Use it on the result of the query, in an outer query.",
    )
}

fn correlated(what: &str) -> Reason {
    Reason::with_hint(
        format!("{what} of an outer query cannot be used on its rows"),
        "Group by the column that it is compared with, in a sub-query in FROM, and join the result.",
    )
}

fn unknown_kind(what: &str) -> Reason {
    Reason::with_hint(
        format!("{what} cannot be used on its rows"),
        "Use it on the result of the query, in an outer query.",
    )
}

/// The name of a kind of node, as PostgreSQL prints trees.
fn tag_name(node: Ref<Node>) -> String {
    // SAFETY: a node that lives.
    let text = unsafe { tree::text_of(pg_sys::nodeToString(node.pointer().cast())) };
    let name = text.trim_start_matches('{');
    let name = name.split_whitespace().next().unwrap_or("an expression");
    format!("an expression of kind {name}")
}

/// Whether an expression over columns may be used on rows. Nothing of it is computed.
pub fn is_total(node: Ref<Node>) -> bool {
    let query = node.memory().make::<Query>();
    let checker = Checker {
        query: None,
        root: planning::planning(query, None),
        around: None,
        is_of_answers: false,
    };
    checker.check(node.copy()).is_ok()
}

/// Whether an operator answers always, and raises nothing.
pub fn is_total_call(operator: Ref<pg_sys::OpExpr>) -> bool {
    // SAFETY: it fills in a field of a node that lives.
    unsafe { pg_sys::set_opfuncid(operator.pointer()) };
    check_collation(operator.inputcollid(), operator.args()).is_ok()
        && matches!(
            judge(operator.opfuncid(), operator.args()),
            Judgement::Total
        )
}

/// Whether values of a type are compared by a total function.
pub fn is_comparable(kind: Oid) -> bool {
    if kind.to_u32() >= FIRST_OF_OTHERS {
        return false;
    }
    // SAFETY: a lookup in the catalog; the entry stays for good.
    let compare = unsafe {
        let entry = pg_sys::lookup_type_cache(kind, pg_sys::TYPECACHE_CMP_PROC as i32);
        (*entry).cmp_proc
    };
    matches!(judge(compare, List::EMPTY), Judgement::Total)
}

/// Whether rows can be grouped by values of a type without telling of them: they are compared by a total function, and
/// can be hashed.
pub fn is_groupable(kind: Oid) -> bool {
    // SAFETY: the same.
    let equal = unsafe {
        let entry = pg_sys::lookup_type_cache(kind, pg_sys::TYPECACHE_EQ_OPR as i32);
        (*entry).eq_opr
    };
    equal != Oid::INVALID && is_total_operator(equal) && has_hash(kind)
}

/// Whether a type has the hash by which a person's groups are chosen: where it has none, a row that is reached is an
/// error.
pub fn has_hash(kind: Oid) -> bool {
    // SAFETY: the same.
    let hash = unsafe {
        let entry = pg_sys::lookup_type_cache(kind, pg_sys::TYPECACHE_HASH_EXTENDED_PROC as i32);
        (*entry).hash_extended_proc
    };
    let is_ours = hash.to_u32() > 0 && hash.to_u32() < FIRST_OF_OTHERS;
    is_ours || !Defence::Hash.stands()
}

/// Whether the function of an operator is total.
pub fn is_total_operator(operator: Oid) -> bool {
    // SAFETY: a lookup in the catalog.
    let function = unsafe { pg_sys::get_opcode(operator) };
    check_operator_itself(operator).is_ok()
        && matches!(judge(function, List::EMPTY), Judgement::Total)
}

/// That an operator is PostgreSQL's own, and not one of others over a function of PostgreSQL.
fn check_operator_itself(operator: Oid) -> Checked<()> {
    if procedure::is_pinned(operator) || !Defence::Operators.stands() {
        return Ok(());
    }
    // SAFETY: a lookup in the catalog, which answers for any number.
    let name = unsafe { tree::text_of(pg_sys::format_operator(operator)) };
    Err(Reason::with_hint(
        format!("operator {name} is not PostgreSQL's own"),
        "Write OPERATOR(pg_catalog.=) and its like, or put pg_catalog first in search_path.",
    ))
}

/// Whether a function makes a float8 or a numeric of an integer: strict, and total.
pub fn is_total_cast(function: Oid) -> bool {
    // SAFETY: lookups in the catalog.
    unsafe {
        let result = pg_sys::get_func_rettype(function);
        pg_sys::func_strict(function)
            && [pg_sys::FLOAT8OID, pg_sys::NUMERICOID].contains(&result)
            && pg_sys::get_func_leakproof(function)
    }
}

/// The most nodes that calling an operator for each element of an array makes: the value is there once for each, and
/// what has such a list within it would be copied with it.
const MOST_OF_ELEMENTS: usize = 5000;

/// `x LIKE ANY (ARRAY[...])` and its like as `x LIKE ... OR x LIKE ...`: an operator that is not total is called by one
/// that is, for each element.
fn of_each_element<'t>(array: Ref<'t, pg_sys::ScalarArrayOpExpr>) -> Checked<Ref<'t, Node>> {
    let refused = || not_total(array.opfuncid());
    let [value, list] = array.args().nodes()[..] else {
        return Err(refused());
    };
    let each = list.cast::<pg_sys::Const>().and_then(constant::each);
    let size = tree::size(value);
    let each = each.filter(|each| each.len().saturating_mul(size) <= MOST_OF_ELEMENTS);
    let each = each.ok_or_else(refused)?.into_iter().map(|element| {
        let arguments = tree::list_of([value.copy(), element]);
        match judge(array.opfuncid(), arguments) {
            Judgement::Total => Ok(tree::call(
                array.memory(),
                array.opfuncid(),
                pg_sys::BOOLOID,
                array.inputcollid(),
                arguments,
            )),
            Judgement::Partial => variant(
                array.opfuncid(),
                arguments,
                pg_sys::BOOLOID,
                Oid::INVALID,
                array.inputcollid(),
            ),
            Judgement::Refused(why) => Err(Reason::new(why)),
        }
    });
    let each = each.collect::<Checked<Vec<_>>>()?;
    if each.is_empty() {
        return Ok(tree::boolean(array.memory(), Some(!array.useOr())));
    }
    let how = match array.useOr() {
        true => pg_sys::BoolExprType::OR_EXPR,
        false => pg_sys::BoolExprType::AND_EXPR,
    };
    // SAFETY: it makes a node of a list of conditions.
    let all = unsafe {
        let each = tree::list_of(each).pointer();
        Ref::of(pg_sys::makeBoolExpr(how, each, -1).cast::<Node>())
    };
    all.ok_or_else(refused)
}

/// Whether an operator compares two values, and answers always: it is strict, and leakproof as those of PostgreSQL are
/// that only compare.
pub fn is_comparison(operator: Ref<pg_sys::OpExpr>) -> bool {
    // SAFETY: it fills in a field of a node that lives, and looks into the catalog.
    unsafe {
        pg_sys::set_opfuncid(operator.pointer());
        let function = operator.opfuncid();
        function.to_u32() < FIRST_OF_OTHERS
            && pg_sys::get_func_rettype(function) == pg_sys::BOOLOID
            && pg_sys::func_strict(function)
            && pg_sys::get_func_leakproof(function)
    }
}

/// Whether an operator is the remainder of a division of integers by a constant other than 0, which answers always.
pub fn is_remainder(operator: Ref<pg_sys::OpExpr>) -> bool {
    const REMAINDERS: [u32; 3] = [pg_sys::F_INT2MOD, pg_sys::F_INT4MOD, pg_sys::F_INT8MOD];
    // SAFETY: it fills in a field of a node that lives.
    unsafe { pg_sys::set_opfuncid(operator.pointer()) };
    let by = operator.args().into_iter().nth(1).and_then(tree::constant);
    REMAINDERS.contains(&operator.opfuncid().to_u32())
        && by.flatten().is_some_and(|by| by.value() as i64 != 0)
}

/// The public range of a number, from the bounds of columns and of declared expressions.
pub fn range(
    node: Ref<Node>,
    bounds: &dyn Fn(i32, i16) -> Option<(f64, f64)>,
    declared: &dyn Fn(*mut Node) -> Option<(f64, f64)>,
) -> Option<(f64, f64)> {
    let (lo, hi) = limits(node, bounds, &|_| None, declared);
    (lo.is_finite() && hi.is_finite()).then_some((lo, hi))
}

/// As above, also from those of calls of aggregates; an end is infinite where nothing bounds the number.
pub fn limits(
    node: Ref<Node>,
    bounds: &dyn Fn(i32, i16) -> Option<(f64, f64)>,
    call: &dyn Fn(*mut Node) -> Option<(f64, f64)>,
    declared: &dyn Fn(*mut Node) -> Option<(f64, f64)>,
) -> (f64, f64) {
    // SAFETY: an expression that lives.
    unsafe { ranges::range(node.pointer(), bounds, call, declared) }
}

/// Checks that a key or a person has a collation that rows can be grouped by.
pub fn check_key(node: Ref<Node>) -> Checked<()> {
    // SAFETY: a lookup in the catalog.
    let has_collation = unsafe { pg_sys::type_is_collatable(tree::type_of(node)) };
    let collation = tree::collation_of(node);
    if has_collation && collation == Oid::INVALID && Defence::Collation.stands() {
        return Err("a key has conflicting collations".into());
    }
    if collation != Oid::INVALID && Defence::Lookup.stands() {
        procedure::look_up_collation(collation);
    }
    Ok(())
}
