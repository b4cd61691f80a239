//! A question: the private query that takes a block's place, as a text, with what it costs and what it was made for. A
//! plan has it as a constant, under a tag that only this process can make: nobody else can have a query run that
//! the gate has not written, and no plan is taken from one session to another.

use std::cell::RefCell;

use dp_core::privacy::spending::Spent;
use dp_sealing::token::{Secret, TAG};
use pgrx::pg_sys::{self, Datum, Oid, Query, RTEKind};

use crate::gate::bill::Bill;
use crate::gate::defence::Defence;
use crate::gate::policy::Policy;
use crate::ledger::session;
use crate::pg::errors;
use crate::pg::tree::{self, Ref, Step};
use crate::pg::tree_text;

/// The version of the form below, and of what is in it.
const VERSION: u32 = 4;

thread_local! {
    /// The secret of this process, with its number: a process that forks has another.
    static SECRET: RefCell<Option<(u32, Secret)>> = const { RefCell::new(None) };
}

fn with_secret<R>(work: impl FnOnce(&Secret) -> R) -> R {
    let process = std::process::id();
    SECRET.with_borrow_mut(|secret| {
        if secret.as_ref().is_none_or(|(owner, _)| *owner != process) {
            let made = Secret::new().unwrap_or_else(|_| errors::no_randomness());
            *secret = Some((process, made));
        }
        work(&secret.as_ref().expect("it was made").1)
    })
}

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The role whose rights on other tables count.
    pub reader: Oid,
    /// The policy that it was written for.
    pub policy: [u8; 32],
    pub bill: Bill,
    /// Whether it may take what unique indexes say for granted.
    pub trusts_indexes: bool,
    /// The private query.
    pub tree: Vec<u8>,
}

impl Question {
    /// The question of a private query, asked by the current role.
    pub fn of(query: Ref<Query>, policy: &Policy, bill: &Bill) -> Self {
        empty_places(query);
        Self {
            reader: session::role(),
            policy: policy.digest,
            bill: bill.clone(),
            trusts_indexes: !session::keeps_a_snapshot(),
            tree: tree_text::write(query.node()),
        }
    }

    /// The question under its tag.
    pub fn seal(&self) -> Vec<u8> {
        let Spent {
            epsilon,
            rho,
            delta,
        } = self.bill.spent;
        let mechanisms = self.bill.mechanisms.as_bytes();
        let mut payload = Vec::with_capacity(128 + mechanisms.len() + self.tree.len());
        for number in [
            VERSION,
            self.reader.to_u32(),
            self.bill.relation.to_u32(),
            self.bill.payer.to_u32(),
            u32::from(self.bill.is_of_one_period),
            u32::from(self.trusts_indexes),
        ] {
            payload.extend_from_slice(&number.to_le_bytes());
        }
        let (length, others) = (mechanisms.len() as i64, &self.bill.others);
        for number in [epsilon, rho, delta, length, others.len() as i64] {
            payload.extend_from_slice(&number.to_le_bytes());
        }
        for other in others {
            payload.extend_from_slice(&other.to_u32().to_le_bytes());
        }
        payload.extend_from_slice(&self.policy);
        payload.extend_from_slice(mechanisms);
        payload.extend_from_slice(&self.tree);
        with_secret(|secret| secret.seal(&payload))
    }

    /// The question of bytes that this process has sealed; `None` of any others.
    pub fn open(token: &[u8]) -> Option<Self> {
        let payload = match Defence::Token.stands() {
            true => with_secret(|secret| secret.open(token))?,
            false => token.get(TAG..)?,
        };
        let mut rest = payload;
        let mut numbers = [0; 6];
        for number in &mut numbers {
            *number = u32::from_le_bytes(*take(&mut rest)?);
        }
        let [
            version,
            reader,
            relation,
            payer,
            is_of_one_period,
            trusts_indexes,
        ] = numbers;
        let mut amounts = [0; 5];
        for amount in &mut amounts {
            *amount = i64::from_le_bytes(*take(&mut rest)?);
        }
        let [epsilon, rho, delta, length, others] = amounts;
        let others = (0..others).map(|_| {
            let other = u32::from_le_bytes(*take(&mut rest)?);
            Some(Oid::from_u32(other))
        });
        let others = others.collect::<Option<Vec<_>>>()?;
        let policy = *take::<32>(&mut rest)?;
        let (mechanisms, tree) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        (version == VERSION).then(|| Self {
            reader: Oid::from_u32(reader),
            policy,
            bill: Bill {
                relation: Oid::from_u32(relation),
                others,
                payer: Oid::from_u32(payer),
                spent: Spent {
                    epsilon,
                    rho,
                    delta,
                },
                mechanisms: String::from_utf8_lossy(mechanisms).into_owned(),
                is_of_one_period: is_of_one_period != 0,
            },
            trusts_indexes: trusts_indexes != 0,
            tree: tree.to_vec(),
        })
    }
}

/// Sub-queries that were pulled up leave their places in the range table, with nothing in them: a text of a query has no
/// such places.
fn empty_places(query: Ref<Query>) {
    tree::search(query.node(), &mut |node, _| {
        if let Some(query) = node.cast::<Query>() {
            for entry in query.rtable() {
                if entry.rtekind() == RTEKind::RTE_SUBQUERY && entry.subquery().is_none() {
                    entry.set_rtekind(RTEKind::RTE_RESULT);
                }
            }
        }
        Step::Below
    });
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (taken, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(taken)
}

/// A sealed question as a value of `dp_mean.block`.
pub fn datum(token: &[u8]) -> Datum {
    // SAFETY: a varlena of as many bytes, which are copied.
    unsafe {
        let size = pg_sys::VARHDRSZ + token.len();
        let value = pg_sys::palloc(size).cast::<u8>();
        pgrx::set_varsize_4b(value.cast(), i32::try_from(size).expect("less than 1 GB"));
        value
            .add(pg_sys::VARHDRSZ)
            .copy_from_nonoverlapping(token.as_ptr(), token.len());
        Datum::from(value)
    }
}
