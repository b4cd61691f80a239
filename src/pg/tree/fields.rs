//! The fields of nodes, under the names that PostgreSQL has for them: what reads one has its name, what sets one has
//! `set_` before it.

#![allow(non_snake_case)]

use std::ffi::c_char;

use pgrx::pg_sys::{self, Bitmapset, Datum, Node, Oid};

use super::node::{List, Ref, string, text_of};

/// One field of a struct: a plain value, another node, a list, or a text.
macro_rules! field {
    (value $name:ident $type:ty) => {
        pub fn $name(self) -> $type {
            // SAFETY: a struct that lives, whose field is copied.
            unsafe { (*self.pointer()).$name }
        }
    };
    (node $name:ident $type:ty) => {
        pub fn $name(self) -> Option<Ref<'t, $type>> {
            // SAFETY: a struct that lives, and a field that is NULL or such a node.
            unsafe { Ref::of((*self.pointer()).$name.cast()) }
        }
    };
    (list $name:ident $type:ty) => {
        pub fn $name(self) -> List<'t, $type> {
            // SAFETY: a struct that lives, and a field that is a list of these.
            unsafe { List::of((*self.pointer()).$name) }
        }
    };
    (text $name:ident) => {
        pub fn $name(self) -> String {
            // SAFETY: a struct that lives, and a field that is NULL or a string.
            unsafe { text_of((*self.pointer()).$name) }
        }
    };
}

/// What sets a field.
macro_rules! setter {
    (value $name:ident $set:ident $type:ty) => {
        pub fn $set(self, value: $type) {
            // SAFETY: a struct that lives, to which there is no reference.
            unsafe { (*self.pointer()).$name = value }
        }
    };
    (node $name:ident $set:ident $type:ty) => {
        pub fn $set(self, value: Option<Ref<'t, $type>>) {
            let value = value.map_or(std::ptr::null_mut(), Ref::pointer);
            // SAFETY: a struct that lives, to which there is no reference, and a node for this field.
            unsafe { (*self.pointer()).$name = value.cast() }
        }
    };
    (list $name:ident $set:ident $type:ty) => {
        pub fn $set(self, value: List<'t, $type>) {
            // SAFETY: a struct that lives, to which there is no reference, and a list for this field.
            unsafe { (*self.pointer()).$name = value.pointer() }
        }
    };
    (text $name:ident $set:ident) => {
        pub fn $set(self, value: Option<&str>) {
            let value = value.map_or(std::ptr::null_mut(), string);
            // SAFETY: a struct that lives, to which there is no reference, and a string in the memory of the call.
            unsafe { (*self.pointer()).$name = value }
        }
    };
}

/// The fields of structs: `name` is read, `name / set_name` is read and set, `name (set_name)` is set.
macro_rules! fields {
    ($($struct:ident {
        $($(#[$cfg:meta])? $kind:ident $name:ident $(/ $set:ident)? $(($only:ident))? $(: $type:ty)?,)*
    })*) => {
        $(impl<'t> Ref<'t, pg_sys::$struct> {
            $(
                fields!(@read $(#[$cfg])? $kind $name [$($only)?] $($type)?);
                fields!(@set $(#[$cfg])? $kind $name [$($set)? $($only)?] $($type)?);
            )*
        })*
    };
    (@read $(#[$cfg:meta])? $kind:ident $name:ident [] $($type:ty)?) => {
        $(#[$cfg])? field!($kind $name $($type)?);
    };
    (@read $(#[$cfg:meta])? $kind:ident $name:ident [$only:ident] $($type:ty)?) => {};
    (@set $(#[$cfg:meta])? $kind:ident $name:ident [] $($type:ty)?) => {};
    (@set $(#[$cfg:meta])? $kind:ident $name:ident [$set:ident] $($type:ty)?) => {
        $(#[$cfg])? setter!($kind $name $set $($type)?);
    };
}

fields! {
    // Queries.
    Query {
        value commandType / set_commandType: pg_sys::CmdType::Type,
        value canSetTag (set_canSetTag): bool,
        value hasAggs / set_hasAggs: bool,
        value hasWindowFuncs: bool,
        value hasTargetSRFs: bool,
        value hasSubLinks / set_hasSubLinks: bool,
        value hasDistinctOn: bool,
        value hasModifyingCTE: bool,
        value hasForUpdate / set_hasForUpdate: bool,
        value hasRowSecurity / set_hasRowSecurity: bool,
        #[cfg(feature = "pg18")] value hasGroupRTE / set_hasGroupRTE: bool,
        list cteList / set_cteList: pg_sys::CommonTableExpr,
        list rtable / set_rtable: pg_sys::RangeTblEntry,
        #[cfg(not(feature = "pg15"))] list rteperminfos / set_rteperminfos: pg_sys::RTEPermissionInfo,
        node jointree / set_jointree: pg_sys::FromExpr,
        list targetList / set_targetList: pg_sys::TargetEntry,
        list groupClause / set_groupClause: pg_sys::SortGroupClause,
        value groupDistinct / set_groupDistinct: bool,
        list groupingSets / set_groupingSets: pg_sys::GroupingSet,
        node havingQual / set_havingQual: Node,
        list windowClause / set_windowClause: pg_sys::WindowClause,
        list distinctClause / set_distinctClause: pg_sys::SortGroupClause,
        list sortClause / set_sortClause: pg_sys::SortGroupClause,
        node limitOffset / set_limitOffset: Node,
        node limitCount / set_limitCount: Node,
        value limitOption: pg_sys::LimitOption::Type,
        list rowMarks: Node,
        node setOperations: Node,
        list constraintDeps: Oid,
    }
    RangeTblEntry {
        value rtekind / set_rtekind: pg_sys::RTEKind::Type,
        value relid / set_relid: Oid,
        value relkind / set_relkind: c_char,
        value rellockmode / set_rellockmode: i32,
        #[cfg(feature = "pg15")] value requiredPerms / set_requiredPerms: pg_sys::AclMode,
        #[cfg(feature = "pg15")] value checkAsUser / set_checkAsUser: Oid,
        #[cfg(feature = "pg15")] value selectedCols: *mut Bitmapset,
        #[cfg(feature = "pg15")] value insertedCols: *mut Bitmapset,
        #[cfg(feature = "pg15")] value updatedCols: *mut Bitmapset,
        #[cfg(not(feature = "pg15"))] value perminfoindex / set_perminfoindex: u32,
        node tablesample / set_tablesample: Node,
        node subquery / set_subquery: pg_sys::Query,
        value security_barrier / set_security_barrier: bool,
        list functions / set_functions: pg_sys::RangeTblFunction,
        value funcordinality: bool,
        text ctename / set_ctename,
        value ctelevelsup / set_ctelevelsup: u32,
        value self_reference: bool,
        text enrname (set_enrname),
        value enrtuples (set_enrtuples): f64,
        list coltypes / set_coltypes: Oid,
        list coltypmods (set_coltypmods): i32,
        list colcollations (set_colcollations): Oid,
        #[cfg(feature = "pg18")] list groupexprs / set_groupexprs: Node,
        node alias (set_alias): pg_sys::Alias,
        node eref / set_eref: pg_sys::Alias,
        value lateral: bool,
        value inh (set_inh): bool,
        value inFromCl (set_inFromCl): bool,
        value jointype / set_jointype: pg_sys::JoinType::Type,
        value joinmergedcols (set_joinmergedcols): i32,
        list joinaliasvars / set_joinaliasvars: Node,
        list joinleftcols (set_joinleftcols): i32,
        list joinrightcols (set_joinrightcols): i32,
        node join_using_alias (set_join_using_alias): pg_sys::Alias,
        list securityQuals / set_securityQuals: Node,
    }
    CommonTableExpr {
        text ctename / set_ctename,
        value ctematerialized (set_ctematerialized): pg_sys::CTEMaterialize::Type,
        node ctequery / set_ctequery: Node,
        value location (set_location): i32,
        value cterecursive: bool,
        value cterefcount / set_cterefcount: i32,
        list ctecolnames (set_ctecolnames): pg_sys::String,
        list ctecoltypes / set_ctecoltypes: Oid,
        list ctecoltypmods / set_ctecoltypmods: i32,
        list ctecolcollations / set_ctecolcollations: Oid,
    }
    FromExpr {
        list fromlist / set_fromlist: Node,
        node quals / set_quals: Node,
    }
    JoinExpr {
        value jointype / set_jointype: pg_sys::JoinType::Type,
        value rtindex / set_rtindex: i32,
        list usingClause (set_usingClause): pg_sys::String,
        node larg / set_larg: Node,
        node rarg / set_rarg: Node,
        node quals / set_quals: Node,
        node alias (set_alias): pg_sys::Alias,
        node join_using_alias (set_join_using_alias): pg_sys::Alias,
    }
    RangeTblRef {
        value rtindex / set_rtindex: i32,
    }
    TargetEntry {
        node expr / set_expr: Node,
        value resno / set_resno: pg_sys::AttrNumber,
        text resname / set_resname,
        value ressortgroupref / set_ressortgroupref: u32,
        value resjunk / set_resjunk: bool,
        value resorigtbl (set_resorigtbl): Oid,
        value resorigcol (set_resorigcol): pg_sys::AttrNumber,
    }
    SortGroupClause {
        value tleSortGroupRef / set_tleSortGroupRef: u32,
        value eqop / set_eqop: Oid,
        value sortop / set_sortop: Oid,
        value hashable (set_hashable): bool,
        value nulls_first: bool,
    }
    WindowClause {
        list partitionClause / set_partitionClause: pg_sys::SortGroupClause,
        list orderClause / set_orderClause: pg_sys::SortGroupClause,
        value frameOptions: i32,
        node startOffset / set_startOffset: Node,
        node endOffset / set_endOffset: Node,
        value winref / set_winref: u32,
        value copiedOrder (set_copiedOrder): bool,
    }
    SetOperationStmt {
        node larg: Node,
        node rarg: Node,
        value op: pg_sys::SetOperation::Type,
        value all: bool,
        list colTypes / set_colTypes: Oid,
        list colTypmods / set_colTypmods: i32,
        list colCollations / set_colCollations: Oid,
        list groupClauses: pg_sys::SortGroupClause,
    }
    Alias {
        text aliasname,
        list colnames / set_colnames: pg_sys::String,
    }

    // Expressions.
    Var {
        value varno / set_varno: i32,
        value varattno: pg_sys::AttrNumber,
        value varlevelsup / set_varlevelsup: u32,
        #[cfg(not(feature = "pg15"))] value varnullingrels / set_varnullingrels: *mut Bitmapset,
        value varnosyn (set_varnosyn): u32,
        value varattnosyn (set_varattnosyn): pg_sys::AttrNumber,
    }
    Const {
        value constlen: i32,
        value constvalue / set_constvalue: Datum,
        value constisnull: bool,
        value constbyval (set_constbyval): bool,
    }
    Param {
        value paramkind / set_paramkind: pg_sys::ParamKind::Type,
        value paramid / set_paramid: i32,
        value paramtype (set_paramtype): Oid,
        value paramtypmod (set_paramtypmod): i32,
    }
    Aggref {
        value aggfnoid / set_aggfnoid: Oid,
        list aggargtypes (set_aggargtypes): Oid,
        value aggtype / set_aggtype: Oid,
        value inputcollid: Oid,
        list aggdirectargs / set_aggdirectargs: Node,
        list args / set_args: pg_sys::TargetEntry,
        list aggorder / set_aggorder: pg_sys::SortGroupClause,
        list aggdistinct: pg_sys::SortGroupClause,
        node aggfilter / set_aggfilter: Node,
        value aggvariadic: bool,
        value aggkind: c_char,
        value agglevelsup: u32,
    }
    GroupingFunc {
        list refs: i32,
        value agglevelsup: u32,
    }
    WindowFunc {
        value winfnoid / set_winfnoid: Oid,
        value wintype / set_wintype: Oid,
        value inputcollid: Oid,
        list args / set_args: Node,
        node aggfilter / set_aggfilter: Node,
        value winref / set_winref: u32,
        value winagg: bool,
    }
    FuncExpr {
        value funcid: Oid,
        value funcresulttype: Oid,
        value funcretset / set_funcretset: bool,
        value funccollid: Oid,
        value inputcollid: Oid,
        list args / set_args: Node,
    }
    OpExpr {
        value opno: Oid,
        value opfuncid: Oid,
        value opresulttype: Oid,
        value opcollid: Oid,
        value inputcollid: Oid,
        list args / set_args: Node,
    }
    RowCompareExpr {
        list opnos: Oid,
    }
    ScalarArrayOpExpr {
        value opno: Oid,
        value opfuncid: Oid,
        value useOr: bool,
        value inputcollid: Oid,
        list args / set_args: Node,
    }
    MinMaxExpr {
        value minmaxtype / set_minmaxtype: Oid,
        value inputcollid: Oid,
        value op (set_op): pg_sys::MinMaxOp::Type,
        value location (set_location): i32,
        list args / set_args: Node,
    }
    BoolExpr {
        value boolop: pg_sys::BoolExprType::Type,
        list args / set_args: Node,
    }
    CoalesceExpr {
        value coalescetype (set_coalescetype): Oid,
        value coalescecollid (set_coalescecollid): Oid,
        value location (set_location): i32,
        list args / set_args: Node,
    }
    CaseExpr {
        value casetype (set_casetype): Oid,
        value location (set_location): i32,
        node arg / set_arg: Node,
        list args / set_args: Node,
        node defresult / set_defresult: Node,
    }
    CaseWhen {
        value location (set_location): i32,
        node expr / set_expr: Node,
        node result / set_result: Node,
    }
    NullTest {
        node arg / set_arg: Node,
        value argisrow: bool,
        value nulltesttype / set_nulltesttype: pg_sys::NullTestType::Type,
        value location (set_location): i32,
    }
    BooleanTest {
        node arg / set_arg: Node,
    }
    ArrayExpr {
        list elements / set_elements: Node,
        value multidims: bool,
    }
    ArrayCoerceExpr {
        node arg / set_arg: Node,
        node elemexpr / set_elemexpr: Node,
    }
    RelabelType {
        node arg / set_arg: Node,
    }
    CoerceViaIO {
        node arg / set_arg: Node,
        value resulttype: Oid,
        value resultcollid: Oid,
    }
    FieldSelect {
        node arg / set_arg: Node,
        value fieldnum (set_fieldnum): pg_sys::AttrNumber,
        value resulttype (set_resulttype): Oid,
        value resulttypmod (set_resulttypmod): i32,
    }
    SubLink {
        value subLinkType / set_subLinkType: pg_sys::SubLinkType::Type,
        node testexpr / set_testexpr: Node,
        node subselect / set_subselect: Node,
    }
    SQLValueFunction {
        value op: pg_sys::SQLValueFunctionOp::Type,
    }

    // Plans and what runs them.
    PlannerInfo {
        node parse / set_parse: pg_sys::Query,
        node glob / set_glob: pg_sys::PlannerGlobal,
        value query_level (set_query_level): u32,
        value wt_param_id (set_wt_param_id): i32,
        list append_rel_list: Node,
        list rowMarks: Node,
    }
    PlannerGlobal {
        node boundParams (set_boundParams): pg_sys::ParamListInfoData,
        list invalItems: pg_sys::PlanInvalItem,
        value dependsOnRole: bool,
    }
    RangeTblFunction {
        node funcexpr / set_funcexpr: Node,
        value funccolcount (set_funccolcount): i32,
        list funccolnames (set_funccolnames): pg_sys::String,
        list funccoltypes (set_funccoltypes): Oid,
        list funccoltypmods (set_funccoltypmods): i32,
        list funccolcollations (set_funccolcollations): Oid,
    }
    PlannedStmt {
        value dependsOnRole / set_dependsOnRole: bool,
        value jitFlags (set_jitFlags): i32,
        list relationOids / set_relationOids: Oid,
        list invalItems / set_invalItems: pg_sys::PlanInvalItem,
        node planTree: pg_sys::Plan,
        list rtable: pg_sys::RangeTblEntry,
    }
    Plan {
        value total_cost / set_total_cost: f64,
        value plan_rows: f64,
        list targetlist: pg_sys::TargetEntry,
    }
    PlanState {
        node plan: pg_sys::Plan,
    }
    QueryDesc {
        node estate: pg_sys::EState,
        node planstate: pg_sys::PlanState,
    }
    EState {
        list es_range_table: pg_sys::RangeTblEntry,
        list es_subplanstates: pg_sys::PlanState,
    }
    CteScanState {
        node leader: pg_sys::CteScanState,
        node cteplanstate: pg_sys::PlanState,
        value eof_cte / set_eof_cte: bool,
    }
    CopyStmt {
        value is_from: bool,
        value relation: *mut pg_sys::RangeVar,
    }
}

#[cfg(not(feature = "pg15"))]
fields! {
    RTEPermissionInfo {
        value requiredPerms: pg_sys::AclMode,
        value checkAsUser / set_checkAsUser: Oid,
        value selectedCols: *mut Bitmapset,
        value insertedCols: *mut Bitmapset,
        value updatedCols: *mut Bitmapset,
    }
}

impl<'t> Ref<'t, pg_sys::CteScanState> {
    pub fn state(self) -> Ref<'t, pg_sys::PlanState> {
        // SAFETY: it starts with a ScanState, which starts with a PlanState.
        unsafe { self.prefix() }
    }
}

impl<'t> Ref<'t, pg_sys::CteScan> {
    pub fn scanrelid(self) -> u32 {
        // SAFETY: a node that lives, whose field is copied.
        unsafe { (*self.pointer()).scan.scanrelid }
    }
}

impl<'t> Ref<'t, pg_sys::PlannerInfo> {
    /// Plans in the memory of this call.
    pub fn use_own_memory(self) {
        // SAFETY: a node that lives, to which there is no reference, and the current memory.
        unsafe { (*self.pointer()).planner_cxt = pg_sys::CurrentMemoryContext }
    }
}

/// What has the permissions of an entry: on newer servers a record of its own.
#[cfg(feature = "pg15")]
pub type Permissions = pg_sys::RangeTblEntry;
#[cfg(not(feature = "pg15"))]
pub type Permissions = pg_sys::RTEPermissionInfo;

impl<'t> Ref<'t, Permissions> {
    /// Forgets which columns are read.
    pub fn forget_selected(self) {
        // SAFETY: a node that lives, to which there is no reference.
        unsafe { (*self.pointer()).selectedCols = std::ptr::null_mut() }
    }

    /// Adds one to the columns that are read, as PostgreSQL counts them.
    pub fn add_selected(self, column: i32) {
        // SAFETY: a node that lives, to which there is no reference, and its set of small numbers, or NULL.
        unsafe {
            let all = (*self.pointer()).selectedCols;
            (*self.pointer()).selectedCols = pg_sys::bms_add_member(all, column);
        }
    }
}
