/* Sets the clock of the process it is preloaded into: LD_PRELOAD=clock-shim.so CLOCK_SHIM=file.
   The file holds two 64-bit numbers: by how many microseconds the clock is ahead of real time, and
   the microseconds since the epoch at which it stands still, 0 if it runs. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *clocks; /* ahead, still */

__attribute__((constructor)) static void map(void) {
  const char *path = getenv("CLOCK_SHIM");
  int file = path ? open(path, O_RDONLY) : -1;
  if (file < 0) _exit(99);
  void *page = mmap(0, 2 * sizeof *clocks, PROT_READ, MAP_SHARED, file, 0);
  if (page == MAP_FAILED) _exit(99);
  clocks = page;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int failed = (int) syscall(SYS_clock_gettime, clock, now);
  if (!failed && clocks && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    int64_t micros = clocks[1];
    if (!micros) micros = clocks[0] + now->tv_sec * 1000000LL + now->tv_nsec / 1000;
    now->tv_sec = micros / 1000000;
    now->tv_nsec = micros % 1000000 * 1000;
  }
  return failed;
}

int gettimeofday(struct timeval *now, void *zone) {
  struct timespec time;
  (void) zone;
  clock_gettime(CLOCK_REALTIME, &time);
  now->tv_sec = time.tv_sec;
  now->tv_usec = time.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *result) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  if (result) *result = time.tv_sec;
  return time.tv_sec;
}
