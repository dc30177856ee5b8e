// MPI is initialised and finalized by a library (ending_library.c).
void use_ending_library(void);

int main(void) {
  use_ending_library();
  return 0;
}
