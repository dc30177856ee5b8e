// Choices, the decision table, and which algorithm wins.
#include "select/select.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace omnes {
namespace {

template <class Action>
std::string complaint(Action action) {
  try {
    action();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

Selector with(std::vector<const char*> variables, std::string_view table = default_table) {
  variables.push_back(nullptr);
  return Selector(Settings::from(variables.data()), table);
}

/// A whole table whose rules for bcast and allreduce are given.
std::string table(const std::string& bcast, const std::string& allreduce = "{use='sliced'}") {
  std::string text = "bcast = [" + bcast + "]\nallreduce = [" + allreduce + "]\n";
  for (int i = 0; i < operation_count; ++i) {
    const auto operation = static_cast<Operation>(i);
    if (operation != Operation::bcast && operation != Operation::allreduce)
      text += std::string(name(operation)) + " = [{use='linear'}]\n";
  }
  return text;
}

TEST(Choice, RoundTrips) {
  for (const char* text :
       {"linear", "knomial", "knomial:k=4", "knomial:segment=16K", "knomial:k=4,segment=3M", "chain:segment=1000"})
    EXPECT_EQ(to_string(parse_choice(Operation::bcast, text)), text);
  EXPECT_EQ(to_string(parse_choice(Operation::bcast, "knomial:segment=4096,k=3")), "knomial:k=3,segment=4K");
}

std::string algorithms_of(Operation operation) {
  std::string names;
  for (const Algorithm* algorithm : catalogue())
    if (algorithm->operation == operation) names += (names.empty() ? "" : ", ") + std::string(algorithm->name);
  return names;
}

TEST(Choice, WrongOnesAreOneClearLine) {
  const std::vector<std::pair<const char*, std::string>> cases = {
      {"x", "no algorithm \"x\" for bcast; valid: " + algorithms_of(Operation::bcast)},
      {"binomail",
       "no algorithm \"binomail\" for bcast; did you mean binomial? valid: " + algorithms_of(Operation::bcast)},
      {"knomail",
       "no algorithm \"knomail\" for bcast; did you mean knomial? valid: " + algorithms_of(Operation::bcast)},
      {"knomial:k=1", "\"1\" is not valid; valid: a whole number of at least 2"},
      {"knomial:k=", "\"\" is not valid; valid: a whole number of at least 2"},
      {"knomial:fanout=3", "bcast algorithm knomial has no parameter \"fanout\"; valid: k=N, segment=BYTES"},
      {"knomial:", "bcast algorithm knomial has no parameter \"\"; valid: k=N, segment=BYTES"},
      {"knomial:k=2,", "bcast algorithm knomial has no parameter \"\"; valid: k=N, segment=BYTES"},
      {"chain:k=2", "bcast algorithm chain has no parameter \"k\"; valid: segment=BYTES"},
      {"scatter_recursive_doubling:k=2",
       "bcast algorithm scatter_recursive_doubling has no parameter \"k\"; valid: none"},
      {"chain:segment=0", "segment=0: segments need at least 1 byte"},
      {"chain:segment=1T", "\"1T\" is not a number of bytes; valid: digits, and K, M or G for their powers of 1024"},
  };
  for (const auto& [text, wanted] : cases)
    EXPECT_EQ(complaint([&, text = text] { parse_choice(Operation::bcast, text); }), wanted);
}

TEST(Choice, NamesAlgorithmsForLevels) {
  const char* whole = "hierarchical:k=2,numa=linear,node=knomial:k=4,switch=rabenseifner,segment=64K";
  const Choice choice = parse_choice(Operation::allreduce, whole);
  EXPECT_EQ(to_string(choice), whole);
  EXPECT_EQ(choice.levels, (Composition{{"numa", "linear", 0}, {"node", "knomial", 4}, {"switch", "rabenseifner", 0}}));
  const std::string levels =
      "LEVEL=NAME[:k=N] (core=..., l2=..., l3=..., numa=..., socket=..., node=..., switch=..., switch2=..., "
      "switch3=..., switch4=..., top=...)";
  const std::vector<std::pair<const char*, std::string>> cases = {
      {"hierarchical:nmua=linear", "barrier algorithm hierarchical has no parameter \"nmua\"; valid: " + levels},
      {"hierarchical:node=lineal",
       "no algorithm \"lineal\" for the levels of barrier/hierarchical; did you mean linear? valid: all_to_all, "
       "binary, bine, chain, "
       "circulant, circulant_pipelined, dissemination, double_tree, kary, knomial, linear, pipeline, postal, "
       "rabenseifner, recursive_doubling, ring, scatter_bine, scatter_recursive_doubling, scatter_ring, sliced, smp, "
       "split_binary"},
      {"hierarchical:node=chain:k=2", "level node: chain has no parameter \"k\"; valid: none"},
      {"hierarchical:node=knomial:fanout=2", "level node: knomial has no parameter \"fanout\"; valid: k=N"},
      {"hierarchical:node=knomial:k=1", "\"1\" is not valid; valid: a whole number of at least 2"},
      {"hierarchical:node=linear,node=chain", "level node is named twice"},
      {"linear:node=linear", "barrier algorithm linear has no parameter \"node\"; valid: none"},
  };
  for (const auto& [text, wanted] : cases)
    EXPECT_EQ(complaint([&, text = text] { parse_choice(Operation::barrier, text); }), wanted);
}

TEST(Selector, SaysWhichLevelsARankDoesNotHave) {
  const Selector selector = with({"OMNES_BCAST=hierarchical:numa=linear,top=chain"});
  EXPECT_EQ(selector.choose({.operation = Operation::bcast, .p = 4}).why,
            "OMNES_BCAST=hierarchical:numa=linear,top=chain: these ranks have no level numa; OMNES_BCAST");
}

TEST(Choice, KnowsOtherNames) {
  const std::vector<std::array<const char*, 2>> cases = {
      {"binomial", "knomial:k=2"},
      {"binomial:segment=8K", "knomial:k=2,segment=8K"},
      {"binomial:k=2", "knomial:k=2"},
      {"pipeline:segment=8K", "chain:segment=8K"},
      {"flat", "linear"},
      {"naive", "linear"},
      {"ring", "chain"},
      {"scatter_ring_allgather", "scatter_ring"},
  };
  for (const auto& [text, meant] : cases) EXPECT_EQ(to_string(parse_choice(Operation::bcast, text)), meant);
  EXPECT_EQ(to_string(parse_choice(Operation::allreduce, "dissemination")), "knomial:k=2");
  EXPECT_EQ(to_string(parse_choice(Operation::allreduce, "ring")), "ring");
  EXPECT_EQ(to_string(parse_choice(Operation::alltoall, "dissemination")), "bruck:k=2");
  EXPECT_EQ(to_string(parse_choice(Operation::barrier, "dissemination")), "dissemination");
  EXPECT_EQ(to_string(parse_choice(Operation::alltoallw, "blocked")), "batched");
  EXPECT_TRUE(complaint([] { parse_choice(Operation::reduce, "ring"); }).starts_with("no algorithm \"ring\""));
  EXPECT_EQ(complaint([] { parse_choice(Operation::bcast, "binomial:k=4"); }),
            "k=4 contradicts the name, which means knomial:k=2");
  EXPECT_TRUE(
      complaint([] { parse_choice(Operation::alltoall, "binomial"); }).starts_with("no algorithm \"binomial\""));
  for (const Algorithm* algorithm : catalogue())
    for (const Alias* alias : aliases_of(*algorithm))
      if (alias->radix != 0) {  // commands that take no k use the default
        EXPECT_EQ(algorithm->default_radix, alias->radix) << algorithm->name;
      }
}

TEST(Choice, CutsIntoSegments) {
  const Choice whole = parse_choice(Operation::bcast, "chain");
  const Choice cut = parse_choice(Operation::bcast, "chain:segment=1K");
  EXPECT_EQ(segments_for(whole, 8, 1 << 20), 1);
  EXPECT_EQ(segments_for(cut, 8, 0), 1);
  EXPECT_EQ(segments_for(cut, 8, 1024), 1);
  EXPECT_EQ(segments_for(cut, 8, 1025), 2);
  EXPECT_EQ(segments_for(cut, 8, 64 << 10), 64);
  EXPECT_EQ(segments_for(cut, 8, std::size_t{1} << 40), 256);
  EXPECT_EQ(segments_for(cut, 8192, std::size_t{1} << 40), 32);
  EXPECT_EQ(segments_for(cut, 1 << 20, std::size_t{1} << 40), 1);
}

TEST(Bytes, AreRead) {
  EXPECT_EQ(parse_bytes("0"), 0u);
  EXPECT_EQ(parse_bytes("16k"), 16384u);
  EXPECT_EQ(parse_bytes("2G"), std::size_t{2} << 30);
  EXPECT_EQ(bytes_text(1536), "1536");
  EXPECT_EQ(bytes_text(3 << 20), "3M");
  for (const char* text : {"", "K", "-1", "1KB", "1.5K", "99999999999999999999", "99999999999999999G"})
    EXPECT_NE(complaint([&] { parse_bytes(text); }), "accepted") << text;
}

TEST(Table, FirstRuleThatFitsWins) {
  const Selector selector = with({}, table("{max_ranks=4, max_bytes='1K', use='linear'}, "
                                           "{one_node=false, use='chain:segment=8K'}, {max_bytes=2048, use='binary'}, "
                                           "{use='knomial:k=4'}"));
  const auto chosen = [&](int p, std::size_t bytes, bool one_node) {
    const Answer answer =
        selector.choose({.operation = Operation::bcast, .p = p, .bytes = bytes, .nodes = one_node ? 1 : 2});
    return to_string(answer.choice) + " by " + answer.why;
  };
  EXPECT_EQ(chosen(4, 1024, false), "linear by table rule 1 of bcast: max_ranks = 4, max_bytes = 1K");
  EXPECT_EQ(chosen(5, 1024, false), "chain:segment=8K by table rule 2 of bcast: one_node = false");
  EXPECT_EQ(chosen(4, 1025, true), "binary by table rule 3 of bcast: max_bytes = 2K");
  EXPECT_EQ(chosen(4, 2049, true), "knomial:k=4 by table rule 4 of bcast: always");
}

TEST(Table, ListsOfTheCompiledInOneAreReadOneByOne) {
  const std::vector<Rule> whole = parse_table(default_table);
  std::size_t read = 0;
  for (int i = 0; i < operation_count; ++i) {
    for (const Rule& rule : default_rules(static_cast<Operation>(i))) {
      ASSERT_LT(read, whole.size());
      EXPECT_EQ(rule.text(), whole[read].text());
      EXPECT_EQ(rule.use, whole[read].use);
      EXPECT_EQ(rule.operation, whole[read].operation);
      ++read;
    }
  }
  EXPECT_EQ(read, whole.size());
}

TEST(Table, WrongOnesAreOneClearLine) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {table("{use='linear', max_bytes=1}"), "decision table: the last rule of bcast may have no conditions"},
      {table("{use='linear'}", "{use='ring'}"),
       "decision table: the last rule of allreduce has to serve everything, but ring needs a predefined operation"},
      {table("{use='linear'}", "{use='model'}"),
       "decision table: the last rule of allreduce may not leave it to the model"},
      {table("{use='linear'}", "{use='host'}"),
       "decision table: the last rule of allreduce may not leave it to the host"},
      {table("{use='linear'}", "{use='knomial'}"),
       "decision table: the last rule of allreduce has to serve everything, but knomial does not combine from the "
       "left, as OMNES_REPRODUCIBLE=1 asks"},
      {table("{max_bites=1, use='linear'}"),
       "decision table: rule 1 of bcast, max_bites: no such entry; did you mean max_bytes? valid: use, min_ranks, "
       "max_ranks, min_bytes, max_bytes, min_nodes, max_nodes, min_per_node, max_per_node, consecutive, commutative, "
       "kernel, one_node, shared_memory, shared_heap, own_cpus, fast_caches, machine_file"},
      {table("{use='linear'}, {max_ranks='many', use='linear'}"),
       "decision table: rule 2 of bcast, max_ranks: valid: a whole number of at least 1"},
      {table("{use='chain:k=2'}"),
       "decision table: rule 1 of bcast, use: bcast algorithm chain has no parameter \"k\"; valid: segment=BYTES"},
      {table("{max_ranks=3}"), "decision table: rule 1 of bcast: has no `use`"},
      {table("'linear'"), "decision table: rule 1 of bcast: valid: { conditions, use = \"algorithm:parameters\" }"},
      {table(""), "decision table: no list of rules for bcast"},
      {table("{use='linear'}") + "bcats = []", "decision table: no operation \"bcats\""},
  };
  for (const auto& [text, wanted] : cases) EXPECT_EQ(complaint([&, &text = text] { parse_table(text); }), wanted);
  EXPECT_TRUE(complaint([] { parse_table("bcast = [\n{use"); }).starts_with("decision table: line 2: "));
}

// A table of the user's need not be whole: what it leaves open is the compiled-in one's.
TEST(OwnTable, ComesFirstWhereItFits) {
  Settings settings;
  settings.table = {"my.toml",
                    "bcast = [{min_ranks=2, max_ranks=4, min_bytes='1K', max_bytes='4K', use='chain'},\n"
                    "         {min_nodes=3, max_nodes=3, use='binary'}]\n"
                    "allreduce = [{use='ring'}]\n"
                    "[measured]\nbcast = [{bytes=1024, seconds=1e-6}]\n"};
  const Selector selector(settings, table("{use='linear'}"));
  struct Case {
    int p;
    std::size_t bytes;
    int nodes;
    const char* wanted;
  };
  const std::vector<Case> cases = {
      {2, 1024, 1, "chain by my.toml, rule 1 of bcast: min_ranks = 2, max_ranks = 4, min_bytes = 1K, max_bytes = 4K"},
      {4, 4096, 1, "chain by my.toml, rule 1 of bcast: min_ranks = 2, max_ranks = 4, min_bytes = 1K, max_bytes = 4K"},
      {2, 1023, 1, "linear by table rule 1 of bcast: always"},
      {2, 4097, 1, "linear by table rule 1 of bcast: always"},
      {1, 2048, 1, "linear by table rule 1 of bcast: always"},
      {5, 2048, 1, "linear by table rule 1 of bcast: always"},
      {6, 2048, 3, "binary by my.toml, rule 2 of bcast: min_nodes = 3, max_nodes = 3"},
  };
  for (const Case& c : cases) {
    const Answer answer =
        selector.choose({.operation = Operation::bcast, .p = c.p, .bytes = c.bytes, .nodes = c.nodes});
    EXPECT_EQ(to_string(answer.choice) + " by " + answer.why, c.wanted);
  }
  EXPECT_EQ(selector.choose({.operation = Operation::allreduce, .p = 3, .commutative = false}).why,
            "ring: needs a predefined operation; table rule 1 of allreduce: always");
  EXPECT_EQ(selector.choose({.operation = Operation::scan, .p = 3}).why, "table rule 1 of scan: always");
}

TEST(OwnTable, WrongOnesAreOneClearLine) {
  const std::vector<std::pair<const char*, std::string>> cases = {
      {"bcast = [\n{use='linear'},\n{max_bites=1}]",
       "my.toml: line 3: rule 2 of bcast, max_bites: no such entry; did you mean max_bytes? valid: use, min_ranks, "
       "max_ranks, min_bytes, max_bytes, min_nodes, max_nodes, min_per_node, max_per_node, consecutive, commutative, "
       "kernel, one_node, shared_memory, shared_heap, own_cpus, fast_caches, machine_file"},
      {"\nbcats = []", "my.toml: line 2: no operation \"bcats\""},
      {"bcast = 'linear'", "my.toml: no list of rules for bcast"},
      {"bcast = [{max_ranks=1}]", "my.toml: line 1: rule 1 of bcast: has no `use`"},
      {"bcast = [{min_ranks=3, max_ranks=2, use='linear'}]",
       "my.toml: line 1: rule 1 of bcast: never fits, as min_ranks is above max_ranks"},
      {"bcast = [{min_bytes='1K', max_bytes=1000, use='linear'}]",
       "my.toml: line 1: rule 1 of bcast: never fits, as min_bytes is above max_bytes"},
      {"bcast = [{max_nodes=0, use='linear'}]",
       "my.toml: line 1: rule 1 of bcast, max_nodes: \"0\" is not valid; valid: a whole number of at least 1"},
      {"bcast = [{one_node=1, use='linear'}]", "my.toml: line 1: rule 1 of bcast, one_node: valid: true, false"},
      {"# \xc3\xa9\nbcast\xef\xb1\xbf = []",
       "my.toml: line 2: Error while parsing key-value pair: expected '=', saw '?'"},
  };
  for (const auto& [text, wanted] : cases)
    EXPECT_EQ(complaint([&, text = text] { parse_own_table(text, "my.toml"); }), wanted);
}

TEST(Selector, ForcedChoiceWins) {
  const Answer answer = with({"OMNES_BCAST=knomial:k=4"}).choose({.operation = Operation::bcast, .p = 5});
  EXPECT_EQ(to_string(answer.choice), "knomial:k=4");
  EXPECT_EQ(answer.why, "OMNES_BCAST");
}

// Who may force, in the order of who is asked first.
TEST(Selector, TheCommunicatorGoesBeforeTheFormBeforeAllForms) {
  const Selector all = with({"OMNES_BCAST=linear"});
  const Selector both = with({"OMNES_BCAST=linear", "OMNES_IBCAST=chain"});
  const Selector not_blocking = with({"OMNES_IBCAST=chain"}, table("{use='binary'}"));
  const Choice by_communicator = parse_choice(Operation::bcast, "knomial:k=3");
  struct Case {
    const Selector& selector;
    bool blocking, by_communicator;
    const char* wanted;
  };
  const std::vector<Case> cases = {
      {all, true, false, "linear by OMNES_BCAST"},
      {all, false, false, "linear by OMNES_BCAST"},
      {both, true, false, "linear by OMNES_BCAST"},
      {both, false, false, "chain by OMNES_IBCAST"},
      {not_blocking, true, false, "binary by table rule 1 of bcast: always"},
      {not_blocking, false, false, "chain by OMNES_IBCAST"},
      {both, true, true, "knomial:k=3 by the communicator"},
      {both, false, true, "knomial:k=3 by the communicator"},
  };
  for (const Case& c : cases) {
    const Question question{.operation = Operation::bcast, .p = 5, .blocking = c.blocking};
    const Answer answer =
        c.selector.choose(question, c.by_communicator ? std::optional(by_communicator) : std::nullopt);
    EXPECT_EQ(to_string(answer.choice) + " by " + answer.why, c.wanted);
  }
}

TEST(Selector, KnowsWhatTheProcessorIsLike) {
  const Selector selector = with({}, table("{fast_caches=true, use='chain'}, {use='binary'}"));
  for (const bool fast : {true, false}) {
    const Answer answer = selector.choose({.operation = Operation::bcast, .p = 5, .fast_caches = fast}, std::nullopt);
    EXPECT_EQ(to_string(answer.choice), fast ? "chain" : "binary");
  }
}

// Whoever may force, and rules, may leave it to the model; where that cannot say, others are asked.
TEST(Selector, AsksTheModel) {
  const std::string rules =
      table("{max_bytes=8, use='chain'}, {own_cpus=true, machine_file=true, use='model'}, {use='binary'}");
  const Selector by_rule = with({}, rules), by_variable = with({"OMNES_BCAST=model"}, rules);
  const Adviser knows = [](const Question& question) {
    return Advice{parse_choice(question.operation, "knomial:k=3"), "1 us expected"};
  };
  const Adviser ignorant = [](const Question&) { return Advice{{}, "has no idea"}; };
  const Adviser nobody;
  struct Case {
    const Selector& selector;
    const Adviser& model;
    std::size_t bytes;
    bool machine_file, by_communicator;
    const char* wanted;
  };
  const std::vector<Case> cases = {
      {by_rule, knows, 8, true, false, "chain by table rule 1 of bcast: max_bytes = 8"},
      {by_rule, knows, 9, true, false,
       "knomial:k=3 by table rule 2 of bcast: own_cpus = true, machine_file = true; the model: 1 us expected"},
      {by_rule, knows, 9, false, false, "binary by table rule 3 of bcast: always"},
      {by_rule, ignorant, 9, true, false, "binary by model: has no idea; table rule 3 of bcast: always"},
      {by_rule, nobody, 9, true, false, "binary by model: is not asked here; table rule 3 of bcast: always"},
      {by_variable, knows, 8, false, false, "knomial:k=3 by OMNES_BCAST; the model: 1 us expected"},
      {by_variable, ignorant, 8, false, false,
       "chain by OMNES_BCAST=model: has no idea; table rule 1 of bcast: max_bytes = 8"},
      {by_rule, knows, 8, false, true, "knomial:k=3 by the communicator; the model: 1 us expected"},
  };
  for (const Case& c : cases) {
    const Question question{.operation = Operation::bcast, .p = 5, .bytes = c.bytes, .machine_file = c.machine_file};
    const auto forced = c.by_communicator ? std::optional(parse_wish(Operation::bcast, "model")) : std::nullopt;
    const Answer answer = c.selector.choose(question, forced, c.model);
    EXPECT_EQ(to_string(answer.choice) + " by " + answer.why, c.wanted);
  }
}

// Which lie in a heap for some ranks, or not yet.
TEST(Selector, ChoosesTheSameWhetherBuffersAreAdoptedOrNot) {
  const std::string rules = table("{shared_heap=true, use='linear'}, {use='knomial'}");
  const Question question{.operation = Operation::bcast, .p = 2, .bytes = 1 << 20};
  for (const auto& [heap, want] : {std::pair("auto", "knomial"), {"alloc_mem", "knomial"}, {"shared", "linear"}}) {
    const std::string variable = std::string("OMNES_HEAP=") + heap;
    const Answer answer = with({variable.c_str()}, rules).choose(question);
    EXPECT_STREQ(answer.choice.algorithm->name, want) << heap;
  }
}

TEST(Selector, LeavesBlockingCallsToTheHostIfItMay) {
  struct Case {
    Selector selector;
    bool blocking, host;
    std::string wanted;
  };
  const auto by_rule = with({}, table("{max_ranks=4, use='host'}, {use='binary'}"));
  const auto by_variable = with({"OMNES_BCAST=host", "OMNES_IBCAST=chain"}, table("{use='binary'}"));
  const std::string stops = "host: while it waits, operations under way would not go on with this MPI; ";
  const std::vector<Case> cases = {
      {by_rule, true, true, "host by table rule 1 of bcast: max_ranks = 4"},
      {by_rule, true, false, "binary by " + stops + "table rule 2 of bcast: always"},
      {by_rule, false, true, "binary by host: serves blocking calls only; table rule 2 of bcast: always"},
      {by_variable, true, true, "host by OMNES_BCAST"},
      {by_variable, false, true, "chain by OMNES_IBCAST"},
      {by_variable, true, false, "binary by OMNES_BCAST=" + stops + "table rule 1 of bcast: always"},
  };
  for (const Case& c : cases) {
    const Question question{.operation = Operation::bcast, .p = 4, .bytes = 8, .blocking = c.blocking, .host = c.host};
    const Answer answer = c.selector.choose(question);
    EXPECT_EQ(to_string(answer.choice) + " by " + answer.why, c.wanted);
  }
  const Selector reproducible = with({"OMNES_SCAN=host", "OMNES_REPRODUCIBLE=1"});
  const Answer scan = reproducible.choose({.operation = Operation::scan, .p = 4, .bytes = 8, .host = true});
  EXPECT_TRUE(scan.why.starts_with("OMNES_SCAN=host: need not combine from the left, as OMNES_REPRODUCIBLE=1 asks; "));
  EXPECT_TRUE(complaint([] { with({"OMNES_ISCAN=host"}); }).ends_with("recursive_doubling, smp, model"));
  EXPECT_TRUE(complaint([] { with({"OMNES_SCAN=modell"}); }).ends_with("recursive_doubling, smp, model, host"));
}

TEST(Selector, OffersTheModelWhatCanDoIt) {
  const Selector selector = with({}, table("{one_node=false, use='hierarchical:k=4'}, {use='chain:segment=1K'}"));
  const Question question{.operation = Operation::bcast, .p = 5, .bytes = 8};
  std::vector<std::string> texts;
  for (const Choice& choice : selector.candidates(question)) texts.push_back(to_string(choice));
  EXPECT_EQ(texts.front(), "chain:segment=1K");  // what the table would choose
  for (const char* wanted : {"linear", "knomial", "knomial:k=8"})
    EXPECT_EQ(std::ranges::count(texts, wanted), 1) << wanted;
  for (const char* unwanted : {"hierarchical", "hierarchical:k=4", "chain:segment=8K"})
    EXPECT_EQ(std::ranges::count(texts, unwanted), 0) << unwanted;
}

TEST(Selector, PassesOverWhateverCannotDoIt) {
  const Selector selector = with({"OMNES_ALLREDUCE=ring", "OMNES_IALLREDUCE=swing"}, table("{use='linear'}"));
  const Choice by_communicator = parse_choice(Operation::allreduce, "bine");
  const Question question{
      .operation = Operation::allreduce, .p = 5, .bytes = 8, .commutative = false, .blocking = false};
  const Answer answer = selector.choose(question, by_communicator);
  EXPECT_EQ(to_string(answer.choice), "sliced");
  const std::string reason = ": needs a predefined operation; ";
  EXPECT_EQ(answer.why, "the communicator=bine" + reason + "OMNES_IALLREDUCE=swing" + reason + "OMNES_ALLREDUCE=ring" +
                            reason + "table rule 1 of allreduce: always");
}

TEST(Selector, SaysWhyAForcedChoiceIsPassedOver) {
  const Selector selector = with({"OMNES_ALLREDUCE=ring"}, table("{use='linear'}"));
  const Question question{.operation = Operation::allreduce, .p = 5, .bytes = 8, .commutative = false};
  const Answer answer = selector.choose(question);
  EXPECT_EQ(to_string(answer.choice), "sliced");
  EXPECT_EQ(answer.why, "OMNES_ALLREDUCE=ring: needs a predefined operation; table rule 1 of allreduce: always");
}

TEST(Selector, SaysWhichRulesArePassedOver) {
  const Selector selector = with({}, table("{use='linear'}", "{use='ring'}, {use='linear'}"));
  const Answer answer = selector.choose({.operation = Operation::allreduce, .p = 3, .commutative = false});
  EXPECT_EQ(answer.why, "ring: needs a predefined operation; table rule 2 of allreduce: always");
}

TEST(Selector, ReproducibleReductionsCombineFromTheLeft) {
  const Selector selector = with({"OMNES_REPRODUCIBLE=1", "OMNES_ALLREDUCE=ring"});
  for (const Operation operation : {Operation::reduce, Operation::allreduce})
    for (const int p : {1, 2, 7, 64, 1000})
      for (const std::size_t bytes : {0, 8, 5000, 100'000'000})
        for (const bool one_node : {false, true}) {
          const Answer answer = selector.choose(
              {.operation = operation, .p = p, .bytes = bytes, .elements = bytes / 8, .nodes = one_node ? 1 : 2});
          EXPECT_TRUE(answer.choice.algorithm->from_left) << answer.choice.algorithm->name;
        }
}

TEST(DefaultTable, AnswersEveryQuestionWithAnAlgorithmThatCan) {
  const Selector selector = with({});
  for (int operation = 0; operation < operation_count; ++operation)
    for (const int p : {1, 2, 3, 8, 33, 128, 100'000})
      for (const std::size_t bytes : {0, 1, 2048, 70'000, 100'000'000})
        for (const bool commutative : {false, true})
          for (const bool kernel : {false, true})
            for (const bool one_node : {false, true}) {
              const Question question{.operation = static_cast<Operation>(operation),
                                      .p = p,
                                      .bytes = bytes,
                                      .elements = bytes,
                                      .commutative = commutative,
                                      .kernel = kernel,
                                      .nodes = one_node ? 1 : 2};
              EXPECT_EQ(why_not(selector.choose(question).choice, question, false), "");
            }
}

// All sizes of a range have its answer.
TEST(Selector, SaysForWhichSizesAnAnswerHolds) {
  const Selector selector = with({"OMNES_SCAN=model"});
  const Adviser model = [](const Question& question) -> Advice {  // knows one size in four, cuts at each 1000
    const std::size_t from = question.bytes / 1000 * 1000;
    if (question.bytes / 1000 % 4 != 0) return {{}, "does not know", {from, from + 999}};
    return {parse_choice(Operation::scan, "linear"), std::to_string(from), {from, from + 999}};
  };
  for (int operation = 0; operation < operation_count; ++operation)
    for (const int p : {2, 16, 100})
      for (const int nodes : {1, 4}) {
        Question question{.operation = static_cast<Operation>(operation), .p = p, .nodes = nodes, .blocking = true};
        for (std::size_t bytes = 0; bytes < 10'000'000; bytes += 1 + bytes / 7) {
          question.bytes = bytes;
          const Answer answer = selector.choose(question, std::nullopt, model);
          ASSERT_TRUE(answer.sizes.contains(bytes)) << name(question.operation) << ' ' << bytes;
          for (const std::size_t other : {answer.sizes.from, answer.sizes.to, bytes + (answer.sizes.to - bytes) / 2}) {
            question.bytes = other;
            const Answer same = selector.choose(question, std::nullopt, model);
            EXPECT_EQ(same.why, answer.why) << name(question.operation) << ' ' << bytes << ' ' << other;
            EXPECT_EQ(same.sizes.from, answer.sizes.from) << name(question.operation) << ' ' << bytes;
            EXPECT_EQ(same.sizes.to, answer.sizes.to) << name(question.operation) << ' ' << bytes;
          }
        }
      }
}

TEST(Choice, AsManySegmentsForAllSizesOfARange) {
  for (const std::size_t segment : {0, 1, 1000, 32768})
    for (const int p : {2, 5000})
      for (const std::size_t units : {1, 3}) {
        Choice choice = parse_choice(Operation::bcast, "chain");
        choice.segment = segment;
        for (std::size_t bytes = 0; bytes < 40'000'000; bytes += 1 + bytes / 5) {
          const int segments = segments_for(choice, p, bytes / units);
          const ByteRange sizes = same_segments(choice, p, bytes / units, units);
          ASSERT_TRUE(sizes.contains(bytes)) << segment << ' ' << p << ' ' << units << ' ' << bytes;
          EXPECT_EQ(segments_for(choice, p, sizes.from / units), segments);
          EXPECT_EQ(segments_for(choice, p, sizes.to / units), segments);
          if (sizes.from > 0) {
            EXPECT_NE(segments_for(choice, p, (sizes.from - 1) / units), segments);
          }
          if (sizes.to < SIZE_MAX) {
            EXPECT_NE(segments_for(choice, p, (sizes.to + 1) / units), segments);
          }
        }
      }
}

}  // namespace
}  // namespace omnes
