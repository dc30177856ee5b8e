! Collectives called through the mpi_f08 module: typed handles, no error codes.
program use_mpi_f08
  use, intrinsic :: iso_c_binding
  use mpi_f08
  implicit none
  integer :: rank, p, failures = 0, all_failures

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, p)
  call broadcasts
  call reductions
  call composition
  call unequal_parts
  call exchange
  call nonblocking
  call absolute_addresses
  call MPI_Allreduce(failures, all_failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0 .and. all_failures == 0) print '(A)', 'OK'
  call MPI_Finalize()
  if (failures > 0) stop 1

contains

  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (holds) return
    failures = failures + 1
    print '(A, I0, 2A)', 'FAIL rank ', rank, ': ', what
  end subroutine expect

  subroutine broadcasts
    double precision :: numbers(1000)
    character(len=16) :: words
    logical :: flags(5)
    integer :: i, root
    do root = 0, p - 1
      numbers = 0
      words = ''
      flags = .false.
      if (rank == root) then
        numbers = [(root + i / 8d0, i = 1, 1000)]
        words = 'omnes, together'
        flags = [.true., .false., .true., .true., .false.]
      end if
      call MPI_Bcast(numbers, 1000, MPI_DOUBLE_PRECISION, root, MPI_COMM_WORLD)
      call MPI_Bcast(words, 16, MPI_CHARACTER, root, MPI_COMM_WORLD)
      call MPI_Bcast(flags, 5, MPI_LOGICAL, root, MPI_COMM_WORLD)
      call expect(all(numbers == [(root + i / 8d0, i = 1, 1000)]), 'bcast of numbers')
      call expect(words == 'omnes, together', 'bcast of characters')
      call expect(all(flags .eqv. [.true., .false., .true., .true., .false.]), 'bcast of logicals')
    end do
  end subroutine broadcasts

  subroutine reductions
    integer :: sums(100), i
    logical :: mine, together, any_of_us
    double precision :: largest, place(2), best(2)
    complex :: z, total
    sums = [(rank + i, i = 1, 100)]
    call MPI_Allreduce(MPI_IN_PLACE, sums, 100, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call expect(all(sums == [(p * (p - 1) / 2 + p * i, i = 1, 100)]), 'allreduce in place')
    mine = rank /= p - 1
    call MPI_Allreduce(mine, together, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD)
    call MPI_Allreduce(mine, any_of_us, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD)
    call expect(.not. together, 'allreduce of logicals: and')
    call expect(any_of_us .eqv. p > 1, 'allreduce of logicals: or')
    call MPI_Reduce(dble(rank), largest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, p - 1, MPI_COMM_WORLD)
    if (rank == p - 1) call expect(largest == p - 1, 'reduce')
    place = [dble(mod(rank, 2)), dble(rank)]
    call MPI_Allreduce(place, best, 1, MPI_2DOUBLE_PRECISION, MPI_MAXLOC, MPI_COMM_WORLD)
    call expect(all(best == [dble(min(1, p - 1)), dble(min(1, p - 1))]), 'location of the maximum')
    z = cmplx(rank, -1)
    call MPI_Allreduce(z, total, 1, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD)
    call expect(total == cmplx(p * (p - 1) / 2, -p), 'sum of complex numbers')
  end subroutine reductions

  ! (a, b) stands for x -> a x + b modulo a prime: composition does not commute.
  subroutine compose(left, right, n, datatype)
    type(c_ptr), value :: left, right
    integer :: n
    type(MPI_Datatype) :: datatype
    integer, pointer :: l(:, :), r(:, :)
    call c_f_pointer(left, l, [2, n])
    call c_f_pointer(right, r, [2, n])
    r(2, :) = mod(l(1, :) * r(2, :) + l(2, :), 10007)
    r(1, :) = mod(l(1, :) * r(1, :), 10007)
  end subroutine compose

  subroutine composition
    integer, parameter :: n = 500
    type(MPI_Datatype) :: pair
    type(MPI_Op) :: op
    integer, target :: got(2, n), wanted(2, n), next(2, n)
    integer :: r
    call MPI_Type_contiguous(2, MPI_INTEGER, pair)
    call MPI_Type_commit(pair)
    call MPI_Op_create(compose, .false., op)
    wanted = contribution(0, n)
    do r = 1, p - 1
      next = contribution(r, n)
      call compose(c_loc(wanted), c_loc(next), n, pair)
      wanted = next
    end do
    got = contribution(rank, n)
    call MPI_Allreduce(MPI_IN_PLACE, got, n, pair, op, MPI_COMM_WORLD)
    call expect(all(got == wanted), 'operation written in Fortran')
    call MPI_Op_free(op)
    call MPI_Type_free(pair)
  end subroutine composition

  function contribution(r, n)
    integer, intent(in) :: r, n
    integer :: contribution(2, n), i
    contribution = reshape([(2 * (r + i) + 1, r * 31 + i, i = 1, n)], [2, n])
  end function contribution

  ! Rank r has r elements; the root leaves a gap behind each part.
  subroutine unequal_parts
    integer :: counts(p), displs(p), mine(p), got(p * p), wanted(p * p), r, i
    counts = [(r, r = 0, p - 1)]
    displs = [(sum(counts(:r)) + r, r = 0, p - 1)]
    mine = [(rank * 100 + i, i = 1, p)]
    got = -1
    wanted = -1
    do r = 0, p - 1
      if (rank == p - 1) wanted(displs(r + 1) + 1:displs(r + 1) + r) = [(r * 100 + i, i = 1, r)]
    end do
    call MPI_Gatherv(mine, rank, MPI_INTEGER, got, counts, displs, MPI_INTEGER, p - 1, MPI_COMM_WORLD)
    call expect(all(got == wanted), 'gatherv')
  end subroutine unequal_parts

  subroutine exchange
    integer :: sent(3, p), received(3, p), i, r
    sent = reshape([((rank * 1000 + r * 10 + i, i = 1, 3), r = 1, p)], [3, p])
    call MPI_Alltoall(sent, 3, MPI_INTEGER, received, 3, MPI_INTEGER, MPI_COMM_WORLD)
    call expect(all(received == reshape([((r * 1000 + (rank + 1) * 10 + i, i = 1, 3), r = 0, p - 1)], [3, p])), &
                'alltoall')
    call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, sent, 3, MPI_INTEGER, MPI_COMM_WORLD)
    call expect(all(sent == received), 'alltoall in place')
  end subroutine exchange

  subroutine nonblocking
    integer, asynchronous :: mine(50), sums(50)
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    integer :: i
    mine = [(rank * i, i = 1, 50)]
    sums = -1
    call MPI_Iallreduce(mine, sums, 50, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Wait(request, status)
    call expect(all(sums == [(p * (p - 1) / 2 * i, i = 1, 50)]), 'iallreduce')
    call expect(request == MPI_REQUEST_NULL, 'the request is null')
  end subroutine nonblocking

  subroutine absolute_addresses
    integer, asynchronous :: number
    double precision, asynchronous :: more(3)
    integer(kind=MPI_ADDRESS_KIND) :: addresses(2)
    type(MPI_Datatype) :: datatype
    number = merge(42, -1, rank == 0)
    more = merge(0.5d0, -1d0, rank == 0)
    call MPI_Get_address(number, addresses(1))
    call MPI_Get_address(more, addresses(2))
    call MPI_Type_create_struct(2, [1, 3], addresses, [MPI_INTEGER, MPI_DOUBLE_PRECISION], datatype)
    call MPI_Type_commit(datatype)
    call MPI_Bcast(MPI_BOTTOM, 1, datatype, 0, MPI_COMM_WORLD)
    call MPI_Type_free(datatype)
    call expect(number == 42 .and. all(more == 0.5d0), 'bcast from MPI_BOTTOM')
  end subroutine absolute_addresses
end program use_mpi_f08
