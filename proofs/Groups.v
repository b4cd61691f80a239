(** Groups, windows and set operations over the rows of one person: they keep rows private.

    Proven. GROUP BY, DISTINCT, windows, LIMIT and DISTINCT ON make a private relation of a private one
    ([by_group_rule] and what follows from it) if the person is among the columns that they group by, and what is
    computed is a function of the bag of a group's rows; UNION, INTERSECT and EXCEPT, with ALL and without, make one of
    two. An ORDER BY is a function that gives one list for each bag.

    Model of: src/gate/private_relation/sub_query.rs (rows of each person, put together), with
    src/gate/private_relation/windows.rs and src/gate/private_relation/set_operation.rs; the rules are in
    docs/proofs/private-relations.md.

    Tied to the code by: tests/forms/own_rows.rs, which compares each rule with what the owner's query answers, and
    tests/gate_attacks/own_rows.rs, which breaks each condition in the smallest way. *)

From Coq Require Import List Permutation Bool Arith.
Import ListNotations.
From DpMean Require Import Relations.

Section OnePerson.

Variable person : Type.
Variable person_eq : forall a b : person, {a = b} + {a <> b}.
Variable A : Type.

Notation row := (Relations.row person).
Notation owner := (Relations.owner person).
Notation owner_eq := (Relations.owner_eq person person_eq).
Notation is_of := (Relations.is_of person person_eq).
Notation of := (Relations.of person person_eq).
Notation relation := (Relations.relation person A).
Notation private := (Relations.private person person_eq A).
Notation by_person := (Relations.by_person person person_eq).

(** ** Groups with the person among the keys.

    The rows with one person and one key are made into a bag of rows, which is a function of their bag. *)

Section Groups.
Variables V K W : Type.
Variable key_eq : forall a b : K, {a = b} + {a <> b}.
Variable key : row V -> K.

Definition group_eq (a b : option person * K) : {a = b} + {a <> b}.
Proof. decide equality. apply owner_eq. Defined.

Definition group_of (r : row V) : option person * K := (owner r, key r).
Definition members (k : option person * K) (l : list (row V)) := filter (fun r => if group_eq (group_of r) k then
  true else false) l.

Definition by_group (agg : K -> list (row V) -> list W) (l : list (row V)) : list (row W) :=
  flat_map (fun k => map (fun w => (fst k, w)) (agg (snd k) (members k l))) (nodup group_eq (map group_of l)).

Lemma filter_nodup : forall (c : option person * K -> bool) l,
  filter c (nodup group_eq l) = nodup group_eq (filter c l).
Proof.
  intros c l. induction l as [|k l IH]; [reflexivity|]. cbn.
  destruct (in_dec group_eq k l) as [i|n]; destruct (c k) eqn:E; cbn; rewrite ?E, IH.
  - destruct (in_dec group_eq k (filter c l)) as [_|n]; [reflexivity|]. exfalso. apply n, filter_In. split; assumption.
  - reflexivity.
  - destruct (in_dec group_eq k (filter c l)) as [i|_]; [|reflexivity]. apply filter_In in i. tauto.
  - reflexivity.
Qed.

Lemma by_group_by_person : forall agg, (forall k l l', Permutation l l' -> Permutation (agg k l) (agg k l')) ->
  by_person (by_group agg).
Proof.
  intros agg Ha. repeat split.
  - intros l l' P. apply flat_map_perm.
    + intros k. apply Permutation_map, Ha, filter_perm, P.
    + apply NoDup_Permutation; [apply NoDup_nodup..|]. intros k. rewrite !nodup_In.
      split; apply Permutation_in, Permutation_map; [|apply Permutation_sym]; exact P.
  - intros p l. unfold by_group.
    set (own := fun k : option person * K => if owner_eq (fst k) (Some p) then true else false).
    assert (E : forall ks, of (Some p) (flat_map (fun k => map (fun w => (fst k, w)) (agg (snd k) (members k l))) ks)
                = flat_map (fun k => map (fun w => (fst k, w)) (agg (snd k) (members k (of (Some p) l)))) (filter own
                  ks)).
    { induction ks as [|k ks IH]; [reflexivity|]. cbn [flat_map]. rewrite of_app, of_owned, IH. cbn [filter].
      unfold own at 2.
      destruct (owner_eq (fst k) (Some p)) as [e|n]; [|reflexivity]. cbn [flat_map].
      assert (Mem : members k (of (Some p) l) = members k l).
      { unfold members, Relations.of. rewrite filter_twice. apply filter_ext. intros r.
        destruct (group_eq (group_of r) k) as [g|g]; [|apply andb_false_r]. rewrite andb_true_r.
        apply is_of_true. rewrite <- g in e. exact e. }
      rewrite Mem. reflexivity. }
    rewrite E, filter_nodup.
    assert (M : filter own (map group_of l) = map group_of (of (Some p) l)).
    { unfold Relations.of. clear. induction l as [|r l IH]; [reflexivity|]. cbn.
      unfold own at 1, Relations.is_of at 1. cbn. rewrite IH.
      destruct (owner_eq (owner r) (Some p)); reflexivity. }
    rewrite M. apply Permutation_refl.
Qed.

Theorem by_group_rule : forall agg (R : relation V), (forall k l l',
  Permutation l l' -> Permutation (agg k l) (agg k l')) ->
  private R -> private (fun db => by_group agg (R db)).
Proof. intros. apply keeps_private; [apply by_group_by_person|]; assumption. Qed.

(** GROUP BY the person and other keys: one row for each group, with any aggregates of its bag of rows. HAVING is a
    filter. *)
Theorem group_by_rule : forall (agg : K -> list (row V) -> W) (R : relation V), (forall k l l',
  Permutation l l' -> agg k l = agg k l') ->
  private R -> private (fun db => by_group (fun k l => [agg k l]) (R db)).
Proof. intros agg R Ha. apply by_group_rule. intros k l l' P. rewrite (Ha _ _ _ P). apply Permutation_refl. Qed.

End Groups.

(** DISTINCT, with the person's column. *)
Theorem distinct_rule : forall V (value_eq : forall a b : V, {a = b} + {a <> b}) (R : relation V),
  private R -> private (fun db => by_group V V V value_eq (fun r => snd r) (fun v _ => [v]) (R db)).
Proof. intros V value_eq R. apply by_group_rule. intros. apply Permutation_refl. Qed.

(** A window partitioned by the person and more: each row with a value of it and of its partition's bag ([rank],
    [sum]). *)
Theorem window_rule : forall V K W key_eq (key : row V -> K) (w : row V -> list (row V) -> W) (R : relation V),
  (forall r l l', Permutation l l' -> w r l = w r l') ->
  private R -> private (fun db => by_group V K (V * W) key_eq key (fun _ l => map (fun r => (snd r, w r l)) l) (R db)).
Proof.
  intros V K W key_eq key w R Hw. apply by_group_rule. intros _ l l' P.
  apply Permutation_trans with (map (fun r => (snd r, w r l')) l).
  - erewrite map_ext; [apply Permutation_refl|]. intros r. cbn. f_equal. apply Hw, P.
  - apply Permutation_map, P.
Qed.

(** ORDER BY by all columns: one list for each bag. Then a window may number the rows, LIMIT and DISTINCT ON may take
    the first ones of a group: [take] is any function of the list. *)
Theorem ordered_rule : forall V K W key_eq (key : row V -> K) (sort : list (row V) ->
  list (row V)) (take : list (row V) -> list W)
  (R : relation V), (forall l l', Permutation l l' -> sort l = sort l') ->
  private R -> private (fun db => by_group V K W key_eq key (fun _ l => take (sort l)) (R db)).
Proof. intros V K W key_eq key sort take R Hs. apply by_group_rule. intros _ l l' P. rewrite (Hs _ _ P).
  apply Permutation_refl. Qed.

(** UNION, INTERSECT and EXCEPT, with ALL and without: of a row that is [a] times on the left and [b] times on the right
    there are [times a b]. *)
Definition tagged {U V} (l : list (row U)) (m : list (row V)) : list (row (U + V)) :=
  map (fun r => (owner r, inl (snd r))) l ++ map (fun r => (owner r, inr (snd r))) m.

Definition on_the_left {V} (r : row (V + V)) : bool := match snd r with inl _ => true | inr _ => false end.

Definition set_operation {V} (value_eq : forall a b : V, {a = b} + {a <> b}) (times : nat -> nat ->
  nat) (l m : list (row V)) :=
  by_group (V + V) V V value_eq (fun r => match snd r with inl v => v | inr v => v end)
    (fun v both => repeat v (times (length (filter on_the_left both)) (length (filter (fun r => negb (on_the_left r))
      both))))
    (tagged l m).

Theorem set_operation_rule : forall V value_eq times (R S : relation V),
  private R -> private S -> private (fun db => set_operation value_eq times (R db) (S db)).
Proof.
  intros V value_eq times R S HR HS. unfold set_operation.
  apply (by_group_rule (V + V) V V value_eq _ _ (fun db => tagged (R db) (S db))).
  - intros v l l' P. rewrite (Permutation_length (filter_perm _ on_the_left _ _ P)).
    rewrite (Permutation_length (filter_perm _ (fun r => negb (on_the_left r)) _ _ P)). apply Permutation_refl.
  - apply (union_all_rule _ _ _ _ (fun db => map (fun r => (owner r,
    inl (snd r))) (R db)) (fun db => map (fun r => (owner r, inr (snd r))) (S db))).
    + apply (project_rule _ _ _ V (V + V) (fun r => inl (snd r))). exact HR.
    + apply (project_rule _ _ _ V (V + V) (fun r => inr (snd r))). exact HS.
Qed.

End OnePerson.
