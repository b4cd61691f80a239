(** Rows that each are of one person: the rules of the gate keep them so.

    Proven. A relation is [private] if the rows of each person in it are a function of the bag of this person's rows
    in the database, and of nothing else. Each rule makes a private relation of private ones: here a protected table,
    WHERE, expressions, a join with a public table, joins of one person's rows, UNION ALL, EXISTS and IN about the
    same person; in Groups.v those that look at several rows of a person. Taking a person out of the database takes
    their rows out of the relation, and no others ([taking_a_person_away]).

    Model of: src/gate/private_relation/, whose rules are in docs/proofs/private-relations.md. Functions of the model
    are total, as the gate demands it of expressions.

    Tied to the code by: tests/forms/own_rows.rs, which compares each rule with what the owner's query answers, and
    tests/gate_attacks/own_rows.rs, which breaks each condition in the smallest way. *)

From Coq Require Import List Permutation Bool Arith.
Import ListNotations.

Section Relations.

(** Persons, told apart by an equality; a row has a value, and names a person or nobody (a NULL). *)
Variable person : Type.
Variable person_eq : forall a b : person, {a = b} + {a <> b}.

Definition row (V : Type) : Type := (option person * V)%type.
Definition owner {V} (r : row V) : option person := fst r.

Definition owner_eq (a b : option person) : {a = b} + {a <> b}.
Proof. decide equality. Defined.

Definition is_of {V} (o : option person) (r : row V) : bool := if owner_eq (owner r) o then true else false.
Definition names {V} (r : row V) : bool := match owner r with Some _ => true | None => false end.

Definition of {V} (o : option person) (l : list (row V)) := filter (is_of o) l.
Definition named {V} (l : list (row V)) := filter names l.
Definition without {V} (p : person) (l : list (row V)) := filter (fun r => negb (is_of (Some p) r)) l.

Lemma is_of_true : forall V o (r : row V), is_of o r = true <-> owner r = o.
Proof. intros V o r. unfold is_of. destruct (owner_eq (owner r) o); split; congruence. Qed.

Lemma filter_perm : forall X (c : X -> bool) l l', Permutation l l' -> Permutation (filter c l) (filter c l').
Proof.
  intros X c l l' H. induction H; cbn.
  - constructor.
  - destruct (c x); [constructor|]; assumption.
  - destruct (c x), (c y); try constructor; apply Permutation_refl.
  - eapply Permutation_trans; eassumption.
Qed.

Lemma filter_twice : forall X (c d : X -> bool) l, filter c (filter d l) = filter (fun x => d x && c x) l.
Proof.
  intros X c d l. induction l as [|x l IH]; [reflexivity|]. cbn.
    destruct (d x); cbn; [destruct (c x)|]; rewrite IH; reflexivity.
Qed.

Lemma of_app : forall V o (l m : list (row V)), of o (l ++ m) = of o l ++ of o m.
Proof. intros. apply filter_app. Qed.

Lemma of_cons : forall V o (r : row V) l, of o (r :: l) = if is_of o r then r :: of o l else of o l.
Proof. reflexivity. Qed.

Lemma of_of : forall V o (l : list (row V)), of o (of o l) = of o l.
Proof.
  intros. unfold of. rewrite filter_twice. apply filter_ext. intros r. destruct (is_of o r); reflexivity.
Qed.

Lemma of_filter : forall V p (c d : row V -> bool) l, (forall r, owner r = Some p -> c r = d r) ->
  of (Some p) (filter c l) = filter d (of (Some p) l).
Proof.
  intros V p c d l H. induction l as [|r l IH]; [reflexivity|]. rewrite of_cons. cbn [filter].
  destruct (is_of (Some p) r) eqn:E.
  - cbn [filter]. rewrite <- (H r) by (apply is_of_true; exact E).
    destruct (c r); [rewrite of_cons, E|]; rewrite IH; reflexivity.
  - destruct (c r); [rewrite of_cons, E|]; exact IH.
Qed.

(** What is private. The database is a list of rows of all protected tables; [A] is what they hold. *)

Variable A : Type.
Definition database := list (row A).
Definition relation (V : Type) := database -> list (row V).

Definition private {V} (R : relation V) : Prop :=
  exists f : person -> list (row A) -> list (row V),
    (forall p l l', Permutation l l' -> Permutation (f p l) (f p l')) /\
    (forall p, f p [] = []) /\
    (forall p db, Permutation (of (Some p) (R db)) (f p (of (Some p) db))).

(** Two bags of named rows are the same if those of each person are. *)
Lemma same_by_person : forall V (l l' : list (row V)),
  (forall r, In r l -> names r = true) -> (forall r, In r l' -> names r = true) ->
  (forall p, Permutation (of (Some p) l) (of (Some p) l')) -> Permutation l l'.
Proof.
  intros V l. induction l as [|r l IH]; intros l' Hl Hl' H.
  - destruct l' as [|s l']; [constructor|]. exfalso.
    assert (N : names s = true) by (apply Hl'; left; reflexivity).
    unfold names in N. destruct (owner s) as [p|] eqn:E; [|discriminate].
    specialize (H p). cbn in H. assert (O : is_of (Some p) s = true) by (apply is_of_true; exact E).
    rewrite O in H. apply Permutation_nil in H. discriminate.
  - assert (N : names r = true) by (apply Hl; left; reflexivity).
    unfold names in N. destruct (owner r) as [p|] eqn:E; [|discriminate].
    assert (I : In r l').
    { assert (I : In r (of (Some p) l')).
      { eapply Permutation_in; [apply H|]. apply filter_In. split; [left; reflexivity|apply is_of_true; exact E]. }
      apply filter_In in I. apply I. }
    apply in_split in I. destruct I as (a & b & ->).
    apply Permutation_cons_app. apply IH.
    + intros s Is. apply Hl. right. exact Is.
    + intros s Is. apply Hl'. apply in_app_iff in Is. apply in_app_iff. cbn. tauto.
    + intros q. specialize (H q). unfold of in *. rewrite filter_app in *. cbn in H.
      destruct (is_of (Some q) r); [|exact H]. apply Permutation_cons_app_inv in H. exact H.
Qed.

Lemma of_without_same : forall V p (l : list (row V)), of (Some p) (without p l) = [].
Proof.
  intros V p l. unfold of, without. induction l as [|r l IH]; [reflexivity|]. cbn.
  destruct (is_of (Some p) r) eqn:E; cbn; [exact IH|]. rewrite E. exact IH.
Qed.

Lemma of_without_other : forall V p q (l : list (row V)), p <> q -> of (Some q) (without p l) = of (Some q) l.
Proof.
  intros V p q l D. unfold of, without. rewrite filter_twice. apply filter_ext. intros r.
  destruct (is_of (Some q) r) eqn:E; [|apply andb_false_r].
  destruct (is_of (Some p) r) eqn:F; [|reflexivity].
  apply is_of_true in E. apply is_of_true in F. congruence.
Qed.

Lemma of_named : forall V p (l : list (row V)), of (Some p) (named l) = of (Some p) l.
Proof.
  intros V p l. unfold of, named. rewrite filter_twice. apply filter_ext. intros r.
  destruct (is_of (Some p) r) eqn:E; [|apply andb_false_r].
  apply is_of_true in E. unfold names. rewrite E. reflexivity.
Qed.

Lemma in_named : forall V (l : list (row V)) r, In r (named l) -> names r = true.
Proof. intros V l r H. apply filter_In in H. apply H. Qed.

(** The main theorem: without a person there are all named rows of the relation but theirs. *)
Theorem taking_a_person_away : forall V (R : relation V), private R ->
  forall p db, Permutation (named (R (without p db))) (without p (named (R db))).
Proof.
  intros V R (f & _ & Hnil & Hf) p db. apply same_by_person.
  - apply in_named.
  - intros r H. apply filter_In in H. apply (in_named _ _ _ (proj1 H)).
  - intros q. rewrite of_named. destruct (person_eq p q) as [->|D].
    + rewrite of_without_same. rewrite Hf, of_without_same, Hnil. constructor.
    + rewrite (of_without_other _ _ _ _ D), of_named, !Hf, (of_without_other _ _ _ _ D). apply Permutation_refl.
Qed.

(** In other words: a private relation is a union over persons, of what each one's rows give. *)
Theorem a_union_over_persons : forall V (R : relation V), private R ->
  exists f : person -> list (row A) -> list (row V),
    forall db ps, NoDup ps -> (forall r p, In r (R db) -> owner r = Some p -> In p ps) ->
      Permutation (named (R db)) (flat_map (fun p => f p (of (Some p) db)) ps).
Proof.
  intros V R (f & Hperm & Hnil & Hf). exists f. intros db ps Nd All. apply same_by_person.
  - apply in_named.
  - intros r H. apply in_flat_map in H. destruct H as (p & _ & I).
    assert (I' : In r (of (Some p) (R db))) by (eapply Permutation_in; [apply Permutation_sym, Hf|exact I]).
    apply filter_In in I'. destruct I' as (_ & O). apply is_of_true in O. unfold names. rewrite O. reflexivity.
  - intros q. rewrite of_named.
    assert (Hq : forall p, of (Some q) (f p (of (Some p) db)) = if person_eq p q then f p (of (Some p) db) else []).
    { intros p. assert (Own : forall r, In r (f p (of (Some p) db)) -> owner r = Some p).
      { intros r I. assert (I' : In r (of (Some p) (R db))) by (eapply Permutation_in;
        [apply Permutation_sym, Hf|exact I]).
        apply filter_In in I'. apply is_of_true, I'. }
      induction (f p (of (Some p) db)) as [|r l IH]; [destruct (person_eq p q); reflexivity|].
      assert (Ow : owner r = Some p) by (apply Own; left; reflexivity).
      assert (IH' := IH (fun s I => Own s (or_intror I))). clear IH. cbn. unfold of in IH'. rewrite IH'.
      unfold is_of. rewrite Ow. destruct (owner_eq (Some p) (Some q)), (person_eq p q); congruence. }
    assert (Sum : of (Some q) (flat_map (fun p => f p (of (Some p) db)) ps)
                  = if in_dec person_eq q ps then f q (of (Some q) db) else []).
    { clear All. induction Nd as [|p ps Np Nd IH]; [reflexivity|]. cbn [flat_map]. rewrite of_app, Hq, IH.
      destruct (person_eq p q) as [->|D].
      - destruct (in_dec person_eq q (q :: ps)) as [_|No]; [|exfalso; apply No; left; reflexivity].
        destruct (in_dec person_eq q ps); [contradiction|]. apply app_nil_r.
      - destruct (in_dec person_eq q ps) as [i|n], (in_dec person_eq q (p :: ps)) as [i'|n']; try reflexivity.
        + exfalso. apply n'. right. exact i.
        + exfalso. destruct i' as [?|?]; contradiction. }
    rewrite Sum. destruct (in_dec person_eq q ps) as [_|No]; [apply Hf|].
    assert (E : of (Some q) (R db) = []).
    { destruct (of (Some q) (R db)) as [|r l] eqn:E; [reflexivity|]. exfalso. apply No.
      assert (I : In r (of (Some q) (R db))) by (rewrite E; left; reflexivity).
      apply filter_In in I. destruct I as (I & O). apply is_of_true in O. eapply All; eassumption. }
    rewrite E. constructor.
Qed.

(** What a rule has to be: an operator that does the same to the rows of one person alone. *)

Definition by_person {V W} (op : list (row V) -> list (row W)) : Prop :=
  op [] = [] /\
  (forall l l', Permutation l l' -> Permutation (op l) (op l')) /\
  (forall p l, Permutation (of (Some p) (op l)) (op (of (Some p) l))).

Definition by_person_2 {U V W} (op : list (row U) -> list (row V) -> list (row W)) : Prop :=
  op [] [] = [] /\
  (forall l l' m m', Permutation l l' -> Permutation m m' -> Permutation (op l m) (op l' m')) /\
  (forall p l m, Permutation (of (Some p) (op l m)) (op (of (Some p) l) (of (Some p) m))).

Theorem keeps_private : forall V W (op : list (row V) -> list (row W)) (R : relation V),
  by_person op -> private R -> private (fun db => op (R db)).
Proof.
  intros V W op R (Hn & Hp & Hl) (f & Fp & Fn & Ff). exists (fun p l => op (f p l)). repeat split.
  - intros. apply Hp, Fp. assumption.
  - intros. rewrite Fn. exact Hn.
  - intros. rewrite Hl. apply Hp, Ff.
Qed.

Theorem keeps_private_2 : forall U V W (op : list (row U) -> list (row V) ->
  list (row W)) (R : relation U) (S : relation V),
  by_person_2 op -> private R -> private S -> private (fun db => op (R db) (S db)).
Proof.
  intros U V W op R S (Hn & Hp & Hl) (f & Fp & Fn & Ff) (g & Gp & Gn & Gg).
  exists (fun p l => op (f p l) (g p l)). repeat split.
  - intros. apply Hp; [apply Fp|apply Gp]; assumption.
  - intros. rewrite Fn, Gn. exact Hn.
  - intros. rewrite Hl. apply Hp; [apply Ff|apply Gg].
Qed.

(** ** Rows one by one: a row becomes any number of rows of its person. *)

Definition expand {V W} (g : row V -> list W) (l : list (row V)) : list (row W) :=
  flat_map (fun r => map (fun w => (owner r, w)) (g r)) l.

Lemma flat_map_perm : forall X Y (g g' : X -> list Y) l l',
  (forall x, Permutation (g x) (g' x)) -> Permutation l l' -> Permutation (flat_map g l) (flat_map g' l').
Proof.
  intros X Y g g' l l' Hg H. apply Permutation_trans with (flat_map g l').
  - apply Permutation_flat_map. exact H.
  - clear H. induction l' as [|x l' IH]; cbn; [constructor|]. apply Permutation_app; [apply Hg|exact IH].
Qed.

Lemma of_owned : forall W o o' (l : list W),
  of o (map (fun w => (o', w)) l) = if owner_eq o' o then map (fun w => (o', w)) l else [].
Proof.
  intros W o o' l. induction l as [|w l IH]; cbn; [destruct (owner_eq o' o); reflexivity|].
  unfold of in IH. rewrite IH. unfold is_of. cbn. destruct (owner_eq o' o); reflexivity.
Qed.

Lemma expand_by_person : forall V W (g : row V -> list W), by_person (expand g).
Proof.
  intros V W g. repeat split.
  - intros l l' H. apply flat_map_perm; [intros; apply Permutation_refl|exact H].
  - intros p l. assert (E : of (Some p) (expand g l) = expand g (of (Some p) l)); [|rewrite E; apply Permutation_refl].
    induction l as [|r l IH]; [reflexivity|]. cbn [expand flat_map]. rewrite of_app, of_owned.
    fold (expand g l). rewrite IH. cbn. unfold is_of. destruct (owner_eq (owner r) (Some p)); reflexivity.
Qed.

(** A protected table: its rows in the database. *)
Theorem protected_table : forall in_table : row A -> bool, private (fun db => filter in_table db).
Proof.
  intros t. exists (fun _ l => filter t l). repeat split.
  - intros. apply filter_perm. assumption.
  - intros. unfold of. rewrite !filter_twice. erewrite filter_ext; [apply Permutation_refl|].
    intros r. apply andb_comm.
Qed.

(** WHERE. *)
Theorem filter_rule : forall V (c : row V -> bool) (R : relation V),
  private R -> private (fun db => filter c (R db)).
Proof.
  intros V c R. apply (keeps_private V V (filter c)). repeat split.
  - intros l l'. apply filter_perm.
  - intros p l. unfold of. rewrite !filter_twice. erewrite filter_ext; [apply Permutation_refl|]. intros r.
    apply andb_comm.
Qed.

(** Expressions of a row, which keep the person's column. *)
Theorem project_rule : forall V W (e : row V -> W) (R : relation V),
  private R -> private (fun db => map (fun r => (owner r, e r)) (R db)).
Proof.
  intros V W e R H. assert (P := keeps_private V W (expand (fun r => [e r])) R (expand_by_person _ _ _) H).
  destruct P as (f & Fp & Fn & Ff). exists f. repeat split; [exact Fp|exact Fn|]. intros p db. rewrite <- Ff.
  assert (E : forall l, map (fun r => (owner r, e r)) l = expand (fun r => [e r]) l)
    by (induction l as [|r l IH]; cbn; [|rewrite IH]; reflexivity).
  rewrite E. apply Permutation_refl.
Qed.

(** A join with a public table [P], on any condition; kept rows without a match are completed with [nulls]. *)
Definition public_join {V W} (P : list W) (on : row V -> W -> bool) : list (row V) -> list (row (V * W)) :=
  expand (fun r => map (fun w => (snd r, w)) (filter (on r) P)).

Definition public_left_join {V W} (P : list W) (on : row V -> W -> bool) : list (row V) -> list (row (V * option W)) :=
  expand (fun r => match filter (on r) P with
                   | [] => [(snd r, None)]
                   | found => map (fun w => (snd r, Some w)) found
                   end).

Theorem public_join_rule : forall V W P on (R : relation V), private R ->
  private (fun db => @public_join V W P on (R db)).
Proof. intros. apply keeps_private; [apply expand_by_person|assumption]. Qed.

Theorem public_left_join_rule : forall V W P on (R : relation V),
  private R -> private (fun db => @public_left_join V W P on (R db)).
Proof. intros. apply keeps_private; [apply expand_by_person|assumption]. Qed.

(** UNION ALL. *)
Theorem union_all_rule : forall V (R S : relation V), private R -> private S -> private (fun db => R db ++ S db).
Proof.
  intros V R S. apply (keeps_private_2 V V V (fun l m => l ++ m)). repeat split.
  - intros. apply Permutation_app; assumption.
  - intros. rewrite of_app. apply Permutation_refl.
Qed.

(** ** Two private relations, with the equality of their persons as a conjunct.

    For a row [r] of a person, [h] looks at the bag of rows that the other relation has of the same person. *)

Definition correlate {U V W} (h : row U -> list (row V) -> list W) (l : list (row U)) (m : list (row V)) : list (row
  W) :=
  expand (fun r => match owner r with None => h r [] | Some p => h r (of (Some p) m) end) l.

Definition of_the_bag {U V W} (h : row U -> list (row V) -> list W) : Prop :=
  forall r m m', Permutation m m' -> Permutation (h r m) (h r m').

Lemma correlate_by_person : forall U V W (h : row U -> list (row V) -> list W),
  of_the_bag h -> by_person_2 (correlate h).
Proof.
  intros U V W h Hh. repeat split.
  - intros l l' m m' Hl Hm. apply flat_map_perm; [|exact Hl]. intros r. apply Permutation_map.
    destruct (owner r); [|apply Permutation_refl]. apply Hh, filter_perm, Hm.
  - intros p l m. assert (E : of (Some p) (correlate h l m) = correlate h (of (Some p) l) (of (Some p) m));
      [|rewrite E; apply Permutation_refl].
    induction l as [|r l IH]; [reflexivity|]. cbn [correlate expand flat_map]. unfold correlate, expand in IH.
    rewrite of_app, of_owned, IH, of_cons. unfold is_of.
    destruct (owner_eq (owner r) (Some p)) as [e|n]; [|reflexivity].
    unfold correlate, expand. cbn [flat_map]. rewrite !e, of_of. reflexivity.
Qed.

Lemma correlate_rule : forall U V W (h : row U -> list (row V) -> list W) (R : relation U) (S : relation V),
  of_the_bag h -> private R -> private S -> private (fun db => correlate h (R db) (S db)).
Proof. intros. apply keeps_private_2; [apply correlate_by_person|..]; assumption. Qed.

(** JOIN, and LEFT JOIN; a RIGHT JOIN is the same with the sides exchanged. *)
Definition matches {U V} (on : row U -> row V -> bool) (r : row U) (m : list (row V)) : list (U * V) :=
  map (fun s => (snd r, snd s)) (filter (on r) m).

Definition left_matches {U V} (on : row U -> row V -> bool) (r : row U) (m : list (row V)) : list (U * option V) :=
  match filter (on r) m with
  | [] => [(snd r, None)]
  | found => map (fun s => (snd r, Some (snd s))) found
  end.

Theorem private_join_rule : forall U V (on : row U -> row V -> bool) (R : relation U) (S : relation V),
  private R -> private S -> private (fun db => correlate (matches on) (R db) (S db)).
Proof. intros. apply correlate_rule; [|assumption..]. intros r m m' P. apply Permutation_map, filter_perm, P. Qed.

Theorem private_left_join_rule : forall U V (on : row U -> row V -> bool) (R : relation U) (S : relation V),
  private R -> private S -> private (fun db => correlate (left_matches on) (R db) (S db)).
Proof.
  intros. apply correlate_rule; [|assumption..]. intros r m m' P. unfold left_matches.
  apply (filter_perm _ (on r)) in P. destruct (filter (on r) m) as [|s l], (filter (on r) m') as [|s' l'].
  - apply Permutation_refl.
  - apply Permutation_nil in P. discriminate.
  - apply Permutation_sym, Permutation_nil in P. discriminate.
  - apply Permutation_map. exact P.
Qed.

(** The join, as SQL writes it: all pairs of rows whose persons are equal, and that meet the condition. *)
Definition same_person {U V} (r : row U) (s : row V) : bool :=
  match owner r, owner s with Some p, Some q => if person_eq p q then true else false | _, _ => false end.

Lemma join_is_of_pairs : forall U V (on : row U -> row V -> bool) l m,
  correlate (matches on) l m
  = flat_map (fun r => map (fun s => (owner r, (snd r, snd s))) (filter (fun s => same_person r s && on r s) m)) l.
Proof.
  intros U V on l m. unfold correlate, expand. apply flat_map_ext. intros r. unfold matches.
  destruct (owner r) as [p|] eqn:E.
  - rewrite map_map. unfold of. rewrite filter_twice. f_equal. apply filter_ext. intros s. f_equal.
    unfold same_person, is_of. rewrite E. destruct (owner s) as [q|]; destruct (owner_eq _ (Some p)); try congruence.
    all: destruct (person_eq p q); congruence.
  - cbn. induction m as [|s m IH]; [reflexivity|]. cbn. unfold same_person at 1. rewrite E. exact IH.
Qed.

(** EXISTS and NOT EXISTS, IN and NOT IN: [c] is what the sub-query says of the bag of its rows, with [r] put in. *)
Theorem semi_join_rule : forall U V (c : row U -> list (row V) -> bool) (R : relation U) (S : relation V),
  (forall r m m', Permutation m m' -> c r m = c r m') ->
  private R -> private S -> private (fun db => correlate (fun r m => if c r m then [snd r] else []) (R db) (S db)).
Proof. intros U V c R S Hc HR HS. apply correlate_rule; [|assumption..]. intros r m m' P. rewrite (Hc _ _ _ P).
  apply Permutation_refl. Qed.

Lemma exists_is_of_the_bag : forall U V (on : row U -> row V -> bool) r m m',
  Permutation m m' -> existsb (on r) m = existsb (on r) m'.
Proof. intros U V on r m m' P. induction P; cbn; try congruence. rewrite !orb_assoc, (orb_comm (on r y)).
  reflexivity. Qed.

Theorem exists_rule : forall U V (on : row U -> row V -> bool) (R : relation U) (S : relation V),
  private R -> private S -> private (fun db => correlate (fun r m => if existsb (on r) m then [snd r] else []) (R db)
    (S db)).
Proof. intros. apply semi_join_rule with (c := fun r m => existsb (on r) m);
  [apply exists_is_of_the_bag|assumption..]. Qed.

Theorem not_exists_rule : forall U V (on : row U -> row V -> bool) (R : relation U) (S : relation V),
  private R -> private S -> private (fun db => correlate (fun r m => if existsb (on r) m then [] else [snd r]) (R db)
    (S db)).
Proof.
  intros U V on R S HR HS.
  assert (P := semi_join_rule U V (fun r m => negb (existsb (on r) m)) R S
    (fun r m m' P => f_equal negb (exists_is_of_the_bag _ _ on r m m' P)) HR HS).
  destruct P as (f & Fp & Fn & Ff). exists f. repeat split; [exact Fp|exact Fn|]. intros p db. rewrite <- Ff.
  apply filter_perm. unfold correlate. apply flat_map_perm; [|apply Permutation_refl]. intros r. apply Permutation_map.
  destruct (owner r); destruct (existsb _ _); apply Permutation_refl.
Qed.

(** FULL JOIN: the LEFT JOIN, and the rows of the other side that no row of this one meets. The person of a row is that
    of the side that is there. *)
Definition full_join {U V} (on : row U -> row V -> bool) (l : list (row U)) (m : list (row V)) :
  list (row (option U * option V)) :=
  map (fun r => (owner r, (Some (fst (snd r)), snd (snd r)))) (correlate (left_matches on) l m)
  ++ map (fun s => (owner s, (None, Some (snd s))))
       (correlate (fun s l => if existsb (fun r => on r s) l then [] else [snd s]) m l).

Theorem private_full_join_rule : forall U V (on : row U -> row V -> bool) (R : relation U) (S : relation V),
  private R -> private S -> private (fun db => full_join on (R db) (S db)).
Proof.
  intros U V on R S HR HS. unfold full_join. apply union_all_rule.
  - apply (project_rule _ _ (fun r => (Some (fst (snd r)), snd (snd r)))
      (fun db => correlate (left_matches on) (R db) (S db))). apply private_left_join_rule; assumption.
  - apply (project_rule _ _ (fun s => (None, Some (snd s)))
      (fun db => correlate (fun s l => if existsb (fun r => on r s) l then [] else [snd s]) (S db) (R db))).
    apply (not_exists_rule V U (fun s r => on r s)); assumption.
Qed.

(** [person IN (SELECT person FROM ...)], where no row of the sub-query names nobody. *)
Theorem in_rule : forall U V (R : relation U) (S : relation V),
  private R -> private S -> private (fun db => filter (fun r => existsb (same_person r) (S db)) (R db)).
Proof.
  intros U V R S HR HS. apply (keeps_private_2 U V U (fun l m => filter (fun r => existsb (same_person r) m) l));
    [|assumption..].
  assert (Ex : forall (r : row U) (m m' : list (row V)), Permutation m m' ->
    existsb (same_person r) m = existsb (same_person r) m')
    by (intros r m m' P; induction P; cbn; try congruence; rewrite !orb_assoc, (orb_comm (same_person r y));
      reflexivity).
  repeat split.
  - intros l l' m m' Pl Pm. rewrite (filter_perm _ _ _ _ Pl). erewrite filter_ext; [apply Permutation_refl|].
    intros r. apply Ex. exact Pm.
  - intros p l m. rewrite (of_filter _ _ _ (fun r => existsb (same_person r) (of (Some p) m)));
    [apply Permutation_refl|].
    intros r E. induction m as [|s m IH]; [reflexivity|]. rewrite of_cons. cbn [existsb]. rewrite IH.
    unfold same_person at 1, is_of. rewrite E. destruct (owner s) as [q|] eqn:F.
    + destruct (owner_eq (Some q) (Some p)) as [e|n]; cbn [existsb].
      * unfold same_person at 2. rewrite E, F. reflexivity.
      * destruct (person_eq p q); [congruence|reflexivity].
    + destruct (owner_eq None (Some p)); [discriminate|reflexivity].
Qed.

(** A sub-query of one value: an aggregate of the person's rows in the other relation. *)
Theorem scalar_rule : forall U V W (agg : row U -> list (row V) -> W) (R : relation U) (S : relation V),
  (forall r m m', Permutation m m' -> agg r m = agg r m') ->
  private R -> private S -> private (fun db => correlate (fun r m => [(snd r, agg r m)]) (R db) (S db)).
Proof. intros U V W agg R S Ha HR HS. apply correlate_rule; [|assumption..]. intros r m m' P. rewrite (Ha _ _ _ P).
  apply Permutation_refl. Qed.

(** A link instead of the person: where a key is unique, two rows with one value of it are one row, and of one
    person. *)
Theorem links : forall V X (key : row V -> X) (l : list (row V)), NoDup (map key l) ->
  forall r s, In r l -> In s l -> key r = key s -> owner r = owner s.
Proof.
  intros V X key l. induction l as [|t l IH]; intros Nd r s Hr Hs E; [contradiction|].
  inversion Nd as [|? ? Ni Nd']; subst. destruct Hr as [->|Hr], Hs as [->|Hs].
  - reflexivity.
  - exfalso. apply Ni. rewrite E. apply in_map. exact Hs.
  - exfalso. apply Ni. rewrite <- E. apply in_map. exact Hr.
  - apply IH; assumption.
Qed.

End Relations.

(** ** The rules need their conditions: what the gate refuses is not private. *)

Section Refused.
Let db : list (row nat nat) := [(Some 1, 10); (Some 2, 20)].

(** A window over the rows of all: the number of rows beside each of them. *)
Theorem a_window_over_all_is_not_private :
  ~ private nat Nat.eq_dec nat (fun db => map (fun r => (owner nat r, length db)) db).
Proof.
  intros H. assert (P := taking_a_person_away _ _ _ _ _ H 2 db). cbn in P.
  apply Permutation_length_1 in P. discriminate.
Qed.

(** A join that does not ask for the same person: rows of one come and go with those of another. *)
Theorem a_join_of_all_is_not_private :
  ~ private nat Nat.eq_dec nat (fun db => flat_map (fun r => map (fun s => (owner nat r, snd s)) db) db).
Proof.
  intros H. assert (P := taking_a_person_away _ _ _ _ _ H 2 db). cbn in P.
  apply Permutation_length in P. discriminate.
Qed.

(** LIMIT 1 over the rows of all: who is there decides whose row is shown. *)
Theorem a_limit_of_all_is_not_private :
  ~ private nat Nat.eq_dec nat (fun db => firstn 1 db).
Proof.
  intros H. assert (P := taking_a_person_away _ _ _ _ _ H 1 db). cbn in P.
  apply Permutation_length in P. discriminate.
Qed.
End Refused.
