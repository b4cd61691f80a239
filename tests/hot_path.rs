//! The functions that PostgreSQL calls for each row run unguarded: a panic or an ERROR in them
//! would end every session of the server. So they may call nothing, in the library that users
//! install, but the guarded function that takes all that is not plain. Those that make a value of each row may ask
//! PostgreSQL for its memory, whose ERROR passes by frames that own nothing.

use std::collections::BTreeMap;
use std::process::Command;

use dp_mean_tests::{Build, rows, session, variable};

/// The C functions that run for each row, or for each group of each worker: the transition functions of all aggregates,
/// and what makes one state of two.
fn per_row() -> Vec<String> {
    let (_database, mut client) = session(Build::Release);
    let sql = "SELECT DISTINCT t.prosrc FROM pg_aggregate a JOIN pg_proc t ON t.oid IN (a.aggtransfn, a.aggcombinefn) \
         JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = a.aggfnoid AND d.deptype = 'e' \
         JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid \
         WHERE extname = 'dp_mean' AND t.pronamespace <> 'pg_catalog'::regnamespace";
    rows(&mut client, sql)
        .iter()
        .map(|row| row.get(0))
        .collect()
}

/// What the guarded functions are called in `unguarded_function!`. The linker may have merged
/// those that are alike.
const GUARDED: &str = "guarded_rest";

/// The C functions that have no case but the plain one, and what they call.
const PLAIN: [&str; 3] = ["dp_part", "dp_part_sum", "dp_part_rows"];
const MEMORY: &str = "palloc";

/// The instructions of each function of the library, by its symbol.
fn disassembly() -> BTreeMap<String, Vec<String>> {
    let library = variable("DP_MEAN_LIBRARY");
    let output = Command::new("objdump")
        .args(["--disassemble", "--no-show-raw-insn", "--wide", &library])
        .output()
        .expect("objdump of the binutils runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    functions(&String::from_utf8_lossy(&output.stdout))
}

/// From objdump's text: `address <symbol>:`, then a line `address:<tab>instruction` for each.
fn functions(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut functions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut current = None;
    for line in text.lines() {
        if let Some(head) = line.strip_suffix(">:") {
            current = head.split_once(" <").map(|(_, symbol)| symbol.to_owned());
        } else if let (Some(symbol), Some((_, instruction))) = (&current, line.split_once(":\t")) {
            functions
                .entry(symbol.clone())
                .or_default()
                .push(instruction.trim().to_owned());
        }
    }
    functions
}

/// Where an instruction of `function` leads out of it: a symbol, or the instruction itself where
/// it does not say.
fn way_out(function: &str, instruction: &str) -> Option<String> {
    const PREFIXES: [&str; 7] = ["bnd", "notrack", "lock", "rep", "repz", "repnz", "data16"];
    // What leads elsewhere on x86_64, besides all that begins with j, and on aarch64, besides
    // branches with a condition or an authenticated address. Traps too: they end the server.
    const BRANCHES: [&str; 18] = [
        "call", "callq", "loop", "loope", "loopne", "syscall", "ud2", //
        "b", "bl", "br", "blr", "cbz", "cbnz", "tbz", "tbnz", "brk", "udf", "svc",
    ];
    const FAMILIES: [&str; 5] = ["j", "b.", "bc.", "blra", "bra"];
    let mut words = instruction
        .split_whitespace()
        .skip_while(|word| PREFIXES.contains(word));
    let operation = words.next()?;
    let operands = words.collect::<Vec<_>>().join(" ");
    if !BRANCHES.contains(&operation)
        && !FAMILIES.iter().any(|family| operation.starts_with(family))
    {
        return None;
    }
    // An indirect call or jump has no target, or, through memory, one that is not where it goes.
    let indirect = operands.contains('*');
    match operands
        .split_once('<')
        .and_then(|(_, rest)| rest.split_once('>'))
    {
        Some((symbol, _)) if !indirect => {
            let inside = symbol == function
                || symbol
                    .strip_prefix(function)
                    .is_some_and(|rest| rest.starts_with("+0x"));
            (!inside).then(|| symbol.to_owned())
        }
        _ => Some(instruction.to_owned()),
    }
}

fn ways_out(function: &str, instructions: &[String]) -> Vec<String> {
    instructions
        .iter()
        .filter_map(|instruction| way_out(function, instruction))
        .collect()
}

#[test]
fn transition_functions_call_only_their_guarded_part() {
    let functions = disassembly();
    assert!(
        functions.keys().any(|symbol| symbol.contains(GUARDED)),
        "the library has no symbol {GUARDED}: is it stripped of its symbol table?"
    );
    let per_row = per_row();
    assert!(per_row.len() > 10, "{per_row:?}");
    for function in &per_row {
        let instructions = functions.get(function);
        let instructions = instructions.unwrap_or_else(|| panic!("no function {function}"));
        let out = ways_out(function, instructions);
        println!(
            "{function}: {} instructions, {} ways out",
            instructions.len(),
            out.len()
        );
        assert!(
            !out.is_empty(),
            "{function}: no way out was seen, not even to {GUARDED}"
        );
        for target in out {
            assert!(
                target.contains(GUARDED) && !target.contains("+0x"),
                "{function} leads to: {target}"
            );
        }
    }
}

#[test]
fn functions_that_make_a_value_of_each_row_call_only_palloc() {
    let functions = disassembly();
    for function in PLAIN {
        let out = ways_out(function, &functions[function]);
        assert!(!out.is_empty(), "{function}: no way out was seen");
        for target in out {
            // `palloc@plt`, or a call through the table of addresses: `call *0x10(%rip)  # 5000 <palloc>`.
            let name = target
                .rsplit('<')
                .next()
                .and_then(|name| name.split(['@', '>']).next());
            assert_eq!(name, Some(MEMORY), "{function} leads to: {target}");
        }
    }
}

/// The reader sees the calls of a function that has some.
#[test]
fn a_guarded_function_shows_other_ways_out() {
    let functions = disassembly();
    let out = ways_out("dp_mean_final", &functions["dp_mean_final"]);
    assert!(
        out.iter().any(|target| !target.contains(GUARDED)),
        "{out:?}"
    );
}

/// What the reader makes of instructions, on the processors that the library is built for.
#[test]
fn every_way_out_is_read() {
    let text = "\
0000000000001000 <f>:
    1000:\tpush   %rbx
    1001:\tcall   2000 <other>
    1006:\tje     1010 <f+0x10>
    1008:\tjmp    2000 <other>
    100d:\tjne    2004 <other+0x4>
    1010:\tcall   *0x10(%rip)        # 5000 <memcpy@GLIBC_2.14>
    1016:\tnotrack jmp *%rax
    1018:\tbnd call 1030 <panic@plt>
    101a:\tud2
    101c:\tmovsd  0x10(%rip),%xmm0        # 5000 <constant>
    101f:\tret

0000000000003000 <g>:
    3000:\tbl\t2000 <other>
    3004:\tcbz\tx0, 3010 <g+0x10>
    3008:\tb.ne\t2000 <other>  // b.any
    300c:\tblr\tx8
    3010:\ttbnz\tw8, #3, 2000 <other>
    3014:\tbr\tx16
    3018:\tbrk\t#0x1
    301c:\tbfxil\tx0, x1, #0, #32
    3020:\tret
";
    let functions = functions(text);
    assert_eq!(
        ways_out("f", &functions["f"]),
        [
            "other",
            "other",
            "other+0x4",
            "call   *0x10(%rip)        # 5000 <memcpy@GLIBC_2.14>",
            "notrack jmp *%rax",
            "panic@plt",
            "ud2"
        ]
    );
    assert_eq!(
        ways_out("g", &functions["g"]),
        ["other", "other", "blr\tx8", "other", "br\tx16", "brk\t#0x1"]
    );
}
