// Operations and algorithms, as Python sees them.
#include <stdexcept>

#include "algorithms/registry.hpp"
#include "python/bindings.hpp"

namespace omnes::python {

namespace {

/// The names of all operations that `holds` for.
Names operations(bool (*holds)(Operation)) {
  nb::list names;
  for (int i = 0; i < operation_count; ++i)
    if (holds(static_cast<Operation>(i))) names.append(std::string(name(static_cast<Operation>(i))));
  return names;
}

nb::dict described(const Algorithm& algorithm) {
  nb::dict d;
  d["operation"] = std::string(name(algorithm.operation));
  d["name"] = algorithm.name;
  d["summary"] = algorithm.summary;
  d["source"] = algorithm.source;
  d["radix"] = algorithm.default_radix;
  d["min_radix"] = algorithm.min_radix;
  d["root_radix"] = algorithm.root_radix;
  d["segmented"] = algorithm.segmented;
  d["ordered"] = algorithm.ordered;
  d["power_of_two"] = algorithm.power_of_two;
  d["unequal"] = algorithm.unequal;
  d["even"] = algorithm.even;
  d["hierarchical"] = algorithm.hierarchical.has_value();
  nb::list aliases;
  for (const Alias* alias : aliases_of(algorithm)) aliases.append(alias->name);
  d["aliases"] = aliases;
  return d;
}

Dicts all() {
  nb::list list;
  for (const Algorithm* algorithm : catalogue()) list.append(described(*algorithm));
  return list;
}

}  // namespace

void require_within(const char* what, std::int64_t value, std::int64_t first, std::int64_t last) {
  if (value < first || value > last)
    throw std::invalid_argument(std::string(what) + " " + std::to_string(value) + " is outside " +
                                std::to_string(first) + ".." + std::to_string(last));
}

void require_ranks(int p) { require_within("p", p, 1, max_ranks); }

Operation operation(const std::string& wanted) {
  if (const auto found = operation_named(wanted)) return *found;
  std::string valid;
  for (int i = 0; i < operation_count; ++i) valid += (i > 0 ? ", " : "") + std::string(name(static_cast<Operation>(i)));
  throw std::invalid_argument("no operation '" + wanted + "'; valid are " + valid);
}

void bind_catalogue(nb::module_& m) {
  m.def(
      "operations", [] { return operations([](Operation) { return true; }); },
      "The names of all operations, such as 'allreduce'.");
  m.def("rooted_operations", [] { return operations(rooted); }, "The names of those with a root.");
  m.def("reductions", [] { return operations(reduces); }, "The names of those that reduce.");
  m.def("in_place_operations", [] { return operations(has_in_place); }, "The names of those with a form in place.");
  m.def("catalogue", all,
        R"(Every algorithm, sorted by operation and name.

Each a dict: operation, name, summary, source (who described it), radix (the default; 0: takes none), min_radix,
root_radix (the default is the square root of p), segmented, ordered (combines in the order of the ranks),
power_of_two, even (only for such p), unequal (listed once more for the operations with unequal parts), hierarchical
(composed over levels), aliases (other names).)");
}

}  // namespace omnes::python
