// Starts the program with the dynamic loader and the C library that lie in a folder beside it. So a
// packaged program runs on every Linux, with any C library or none.
//
// A program names its loader by an absolute path (the program header PT_INTERP), which the kernel
// follows, and a folder that is unpacked anywhere has no such path. scripts/collect-program.sh
// therefore hides that program header: it changes the type to PT_NULL. The kernel then maps the
// program alone and jumps to `berth_start`, which does what the kernel would have done: it maps
// ../lib/berth/ld-linux-*.so as seen from the program's folder, enters it in the auxiliary vector,
// and jumps to it. The loader finds the libraries by the program's DT_RPATH, $ORIGIN/../lib/berth.
// /proc/self/exe is still the program, unlike with a loader that is called with the program as its
// argument.
//
// In a program that was not packaged, the kernel has followed PT_INTERP; berth_start then goes on
// to _start, the C library's start.
//
// Nothing is linked yet while this code runs: it calls no function of a library, and reads no data
// that needs relocation. The only exception is one pointer, which shows whether a loader has run.
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>

extern "C" [[gnu::visibility("hidden")]] void _start();

namespace {

#if defined(__x86_64__)
constexpr char kLoader[] = "/../lib/berth/ld-linux-x86-64.so.2";
#elif defined(__aarch64__)
constexpr char kLoader[] = "/../lib/berth/ld-linux-aarch64.so.1";
#endif

constexpr size_t kLongestPath = 4096;
constexpr size_t kMostHeaders = 32;

using FileHeader = Elf64_Ehdr;
using ProgramHeader = Elf64_Phdr;
using AuxiliaryEntry = Elf64_auxv_t;

// A loader has relocated this pointer, or else it does not hold the address of _start.
void (*const volatile relocated_start)() = _start;

long system_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                 long f = 0) {
#if defined(__x86_64__)
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc 0"
               : "+r"(x0)
               : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
               : "memory");
  return x0;
#endif
}

bool failed(long result) { return result < 0 && result > -4096; }

[[noreturn]] void give_up(const char* what) {
  const char* const parts[] = {"berth: cannot start: ", what, "\n"};
  for (const char* part : parts) {
    size_t size = 0;
    while (part[size] != 0) ++size;
    system_call(SYS_write, 2, reinterpret_cast<long>(part), static_cast<long>(size));
  }
  for (;;) system_call(SYS_exit_group, 127);
}

// Writes the loader's path beside this program to `path`.
void find_loader(char* path) {
  const char own[] = "/proc/self/exe";
  long size = system_call(SYS_readlinkat, AT_FDCWD, reinterpret_cast<long>(own),
                          reinterpret_cast<long>(path), kLongestPath - sizeof kLoader);
  if (failed(size)) give_up("/proc is not mounted, so the program's folder is not known");
  while (size > 0 && path[size - 1] != '/') --size;
  if (size == 0) give_up("/proc/self/exe is no path");
  for (size_t i = 0; i < sizeof kLoader; ++i) path[static_cast<size_t>(size) - 1 + i] = kLoader[i];
}

struct Span {
  uintptr_t begin, end;
};

// The addresses that the file's segments take, whole pages.
Span span_of(const ProgramHeader* headers, size_t count, uintptr_t page) {
  Span span{UINTPTR_MAX, 0};
  for (size_t i = 0; i < count; ++i) {
    if (headers[i].p_type != PT_LOAD) continue;
    const uintptr_t begin = headers[i].p_vaddr & ~(page - 1);
    const uintptr_t end = (headers[i].p_vaddr + headers[i].p_memsz + page - 1) & ~(page - 1);
    if (begin < span.begin) span.begin = begin;
    if (end > span.end) span.end = end;
  }
  return span;
}

void map_segment(long file, const ProgramHeader& segment, uintptr_t base, uintptr_t page) {
  const int protection = (segment.p_flags & PF_R ? PROT_READ : 0) |
                         (segment.p_flags & PF_W ? PROT_WRITE : 0) |
                         (segment.p_flags & PF_X ? PROT_EXEC : 0);
  const uintptr_t begin = base + (segment.p_vaddr & ~(page - 1));
  const uintptr_t file_end = base + segment.p_vaddr + segment.p_filesz;
  const uintptr_t pages_end = (file_end + page - 1) & ~(page - 1);
  const uintptr_t end = (base + segment.p_vaddr + segment.p_memsz + page - 1) & ~(page - 1);
  if (failed(system_call(SYS_mmap, static_cast<long>(begin), static_cast<long>(file_end - begin),
                         protection, MAP_PRIVATE | MAP_FIXED, file,
                         static_cast<long>(segment.p_offset & ~(page - 1))))) {
    give_up("its loader cannot be mapped; is the file system mounted noexec?");
  }
  if (segment.p_memsz == segment.p_filesz) return;
  // The rest of the last page of the file's bytes is zero, and so are the pages behind it.
  for (volatile char* byte = reinterpret_cast<volatile char*>(file_end);
       byte < reinterpret_cast<volatile char*>(pages_end); ++byte) {
    *byte = 0;
  }
  if (end > pages_end &&
      failed(system_call(SYS_mmap, static_cast<long>(pages_end), static_cast<long>(end - pages_end),
                         protection, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0))) {
    give_up("there is no memory for its loader");
  }
}

struct Loader {
  uintptr_t base, entry;
};

Loader map_loader(const char* path, uintptr_t page) {
  const long file =
      system_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), O_RDONLY | O_CLOEXEC);
  if (failed(file)) give_up("../lib/berth, which belongs beside its folder, has no loader");
  struct {
    FileHeader header;
    ProgramHeader programs[kMostHeaders];
  } start;
  const long size = system_call(SYS_read, file, reinterpret_cast<long>(&start), sizeof start);
  const FileHeader& header = start.header;
  if (failed(size) || static_cast<size_t>(size) < sizeof start.header ||
      header.e_ident[EI_MAG0] != ELFMAG0 || header.e_ident[EI_MAG1] != ELFMAG1 ||
      header.e_phoff != sizeof header || header.e_phentsize != sizeof(ProgramHeader) ||
      header.e_phnum > kMostHeaders ||
      static_cast<size_t>(size) < sizeof header + header.e_phnum * sizeof(ProgramHeader)) {
    give_up("the loader in ../lib/berth is no such file");
  }
  const Span span = span_of(start.programs, header.e_phnum, page);
  if (span.end <= span.begin) give_up("the loader in ../lib/berth is empty");
  const long reserved = system_call(SYS_mmap, 0, static_cast<long>(span.end - span.begin),
                                    PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (failed(reserved)) give_up("there is no memory for its loader");
  const uintptr_t base = static_cast<uintptr_t>(reserved) - span.begin;
  for (size_t i = 0; i < header.e_phnum; ++i) {
    if (start.programs[i].p_type == PT_LOAD) map_segment(file, start.programs[i], base, page);
  }
  system_call(SYS_close, file);
  return {base, base + header.e_entry};
}

// Returns program headers for the loader's eyes: a copy in which the one that was hidden from the
// kernel names the interpreter again. The loader knows its own name by that. The loader computes
// the program's address as the difference between the headers' address and the address in PT_PHDR.
// So PT_PHDR is moved, too. The hidden header is the only PT_NULL.
ProgramHeader* with_interpreter(const ProgramHeader* headers, size_t count) {
  if (count > kMostHeaders) give_up("it has too many program headers");
  const long memory = system_call(SYS_mmap, 0, static_cast<long>(count * sizeof(ProgramHeader)),
                                  PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (failed(memory)) give_up("there is no memory for its program headers");
  auto* const copy = reinterpret_cast<ProgramHeader*>(memory);
  for (size_t i = 0; i < count; ++i) {
    copy[i] = headers[i];
    if (copy[i].p_type == PT_NULL) copy[i].p_type = PT_INTERP;
    if (copy[i].p_type == PT_PHDR) {
      copy[i].p_vaddr += reinterpret_cast<uintptr_t>(copy) - reinterpret_cast<uintptr_t>(headers);
    }
  }
  return copy;
}

}  // namespace

// The kernel's stack: the number of arguments, the arguments, null, the environment, null, and the
// auxiliary vector. Returns the address to go on at.
extern "C" [[gnu::visibility("hidden"), gnu::used]] uintptr_t berth_find_start(uintptr_t* stack) {
  const uintptr_t start = reinterpret_cast<uintptr_t>(&_start);
  if (reinterpret_cast<uintptr_t>(relocated_start) == start) return start;
  uintptr_t* after = stack + 1 + stack[0] + 1;
  while (*after != 0) ++after;
  AuxiliaryEntry *base = nullptr, *entry = nullptr, *headers = nullptr;
  uintptr_t page = 4096;
  size_t count = 0;
  for (auto* aux = reinterpret_cast<AuxiliaryEntry*>(after + 1); aux->a_type != AT_NULL; ++aux) {
    if (aux->a_type == AT_BASE) base = aux;
    if (aux->a_type == AT_ENTRY) entry = aux;
    if (aux->a_type == AT_PAGESZ) page = aux->a_un.a_val;
    if (aux->a_type == AT_PHDR) headers = aux;
    if (aux->a_type == AT_PHNUM) count = aux->a_un.a_val;
  }
  if (base == nullptr || entry == nullptr || headers == nullptr) {
    give_up("the kernel says too little about the process");
  }
  char path[kLongestPath];
  find_loader(path);
  const Loader loader = map_loader(path, page);
  headers->a_un.a_val = reinterpret_cast<uintptr_t>(
      with_interpreter(reinterpret_cast<const ProgramHeader*>(headers->a_un.a_val), count));
  base->a_un.a_val = loader.base;
  entry->a_un.a_val = start;
  return loader.entry;
}

// The program's entry point. A loader passes _start a function in a register (rdx, x0); the
// function stays there.
#if defined(__x86_64__)
asm(R"(
.text
.globl berth_start
.hidden berth_start
.type berth_start, @function
berth_start:
  endbr64
  xor %ebp, %ebp
  mov %rsp, %r12
  mov %rdx, %r13
  mov %rsp, %rdi
  and $-16, %rsp
  call berth_find_start
  mov %r12, %rsp
  mov %r13, %rdx
  jmp *%rax
.size berth_start, . - berth_start
)");
#elif defined(__aarch64__)
asm(R"(
.text
.globl berth_start
.hidden berth_start
.type berth_start, %function
berth_start:
  hint #34
  mov x29, #0
  mov x30, #0
  mov x19, x0
  mov x0, sp
  bl berth_find_start
  mov x16, x0
  mov x0, x19
  mov x30, #0
  br x16
.size berth_start, . - berth_start
)");
#endif
