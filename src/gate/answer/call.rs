//! The call in the place of a block.

use pgrx::pg_sys::{
    self, Const, FuncExpr, Node, Oid, Param, ParamKind, Query, RTEKind, RangeTblEntry,
};

use crate::gate::answer::question::{self, Question};
use crate::pg::errors;
use crate::pg::procedure;
use crate::pg::sql_type;
use crate::pg::tree::{self, Memory, Ref};
use crate::pg::varlena::text_bytes;

/// The function, if the extension's SQL has it.
fn function() -> Option<Oid> {
    let block = sql_type::own_type(c"block");
    procedure::internal(c"answer", &[block, pg_sys::ANYOID])
}

/// The call, with the parameters of the client that the private query needs. Before them is a NULL: a list of no
/// parameter is no call.
pub fn call<'t>(
    memory: Memory<'t>,
    question: &Question,
    parameters: &[Ref<'t, Node>],
) -> Ref<'t, Node> {
    let function = function().unwrap_or_else(|| errors::no_function("answer").raise());
    let block = sql_type::own_type(c"block");
    let token = tree::number(memory, block, -1, question::datum(&question.seal()));
    token
        .cast::<Const>()
        .expect("a constant")
        .set_constbyval(false);
    let arguments = [token, tree::boolean(memory, None)].into_iter();
    let arguments = arguments.chain(parameters.iter().copied());
    let call = tree::call(memory, function, pg_sys::RECORDOID, Oid::INVALID, arguments);
    call.cast::<FuncExpr>()
        .expect("a call")
        .set_funcretset(true);
    call
}

/// A query in which the parameters of the client have the numbers from 1 on, and these parameters.
pub fn numbered<'t>(query: Ref<'t, Query>) -> (Ref<'t, Query>, Vec<Ref<'t, Node>>) {
    let mut found: Vec<Ref<Param>> = Vec::new();
    let changed = tree::change(query.node(), &mut |node| {
        let parameter = node.cast::<Param>()?;
        if parameter.paramkind() != ParamKind::PARAM_EXTERN {
            return None;
        }
        let is_it = |known: &Ref<Param>| known.paramid() == parameter.paramid();
        let known = found.iter().position(is_it);
        let i = known.unwrap_or_else(|| {
            found.push(parameter);
            found.len() - 1
        });
        let own = parameter.copy();
        own.set_paramid(i32::try_from(i + 1).expect("few parameters"));
        Some(own.node())
    });
    let query = changed.cast().expect("a query stays one");
    (query, found.into_iter().map(Ref::node).collect())
}

/// The question of an entry of a range table, if it is a call that the gate has made in this session.
pub fn question_of<'t>(entry: Ref<'t, RangeTblEntry>) -> Option<(Ref<'t, Const>, Question)> {
    if entry.rtekind() != RTEKind::RTE_FUNCTION {
        return None;
    }
    let [one] = entry.functions().nodes()[..] else {
        return None;
    };
    let call = one.funcexpr()?.cast::<FuncExpr>()?;
    if Some(call.funcid()) != function() {
        return None;
    }
    let token = call.args().nodes().first()?.cast::<Const>()?;
    if token.constisnull() {
        return None;
    }
    // SAFETY: the function's first argument is a varlena.
    let bytes = unsafe { text_bytes(token.constvalue()) };
    Question::open(&bytes).map(|question| (token, question))
}

/// Whether an entry of a range table is a call that the gate has made in this session.
pub fn is_answer(entry: Ref<RangeTblEntry>) -> bool {
    question_of(entry).is_some()
}
