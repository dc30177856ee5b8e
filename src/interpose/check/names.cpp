// Tables.
#include "interpose/check/names.hpp"

#include <cctype>
#include <iterator>

namespace omnes::interpose::check {

namespace {

constexpr std::uint8_t programs_own = 255;

struct Reduction {
  MPI_Op op;
  const char* name;
};
const Reduction (&reductions())[14] {
  static const Reduction all[] = {{MPI_SUM, "MPI_SUM"},     {MPI_PROD, "MPI_PROD"},      {MPI_MAX, "MPI_MAX"},
                                  {MPI_MIN, "MPI_MIN"},     {MPI_LAND, "MPI_LAND"},      {MPI_LOR, "MPI_LOR"},
                                  {MPI_LXOR, "MPI_LXOR"},   {MPI_BAND, "MPI_BAND"},      {MPI_BOR, "MPI_BOR"},
                                  {MPI_BXOR, "MPI_BXOR"},   {MPI_MINLOC, "MPI_MINLOC"},  {MPI_MAXLOC, "MPI_MAXLOC"},
                                  {MPI_NO_OP, "MPI_NO_OP"}, {MPI_REPLACE, "MPI_REPLACE"}};
  return all;
}

}  // namespace

std::string function_name(std::uint8_t number) {
  if (number == 0) return "no function of MPI";
  if (!is_collective(number)) return std::string("MPI_") + check::name(static_cast<Function>(number - first_function));
  std::string name(omnes::name(operation_of(number)));
  switch (static_cast<Form>((number - 1) % form_count)) {
    case Form::nonblocking: return "MPI_I" + name;
    case Form::persistent: name += "_init"; [[fallthrough]];
    case Form::blocking: break;
  }
  name[0] = static_cast<char>(std::toupper(name[0]));
  return "MPI_" + name;
}

std::uint8_t number_of(MPI_Op op) {
  std::uint8_t number = 1;
  for (const Reduction& known : reductions()) {
    if (known.op == op) return number;
    ++number;
  }
  return programs_own;
}

std::string reduction_name(std::uint8_t number) {
  return number == 0 || number > std::size(reductions()) ? "an operation of its own" : reductions()[number - 1].name;
}

}  // namespace omnes::interpose::check
