/*
 * A PKCS#11 library that hands every call on to another one (DOUBLE_LIBRARY), counts calls, and fails on command.
 *
 * DOUBLE_LOG      each intercepted call appends its name and a line feed.
 * DOUBLE_CONTROL  while this file exists, its one line says what happens: FUNCTION ACTION [ARGUMENT] [once]
 *   return 0x32     the function returns this code and does nothing
 *   sleep 300       the function sleeps for so many seconds
 *   crash           the process dies by SIGSEGV
 *   flip            C_Sign: one bit of the signature is another
 *   other LABEL     C_SignInit: another key is used, the private key with this label
 *   limit 2         C_OpenSession: CKR_SESSION_COUNT while so many sessions are open
 *   uses 0x05       C_GenerateKeyPair: this code for a private template that names CKA_DECRYPT, as a TPM answers
 *   die             C_GenerateKeyPair: the process is killed after the keys were made
 *   after 0x06      C_GenerateKeyPair: this code after the keys were made
 *   without 0x40    C_GetMechanismInfo: the token does not have this mechanism, for signatures neither
 *   stale LABEL     C_FindObjectsInit: a process that loaded this library before the command finds nothing with this label
 *   drop            every session is closed before the call, as a token does with idle ones
 * `once`: the file is removed, and of all threads and processes the one that removed it obeys.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CK_PTR *
#define CK_DECLARE_FUNCTION(returnType, name) returnType name
#define CK_DECLARE_FUNCTION_POINTER(returnType, name) returnType(*name)
#define CK_CALLBACK_FUNCTION(returnType, name) returnType(*name)
#ifndef NULL_PTR
#define NULL_PTR 0
#endif
#include "pkcs11.h"

struct rule {
  char function[32];
  char action[16];
  char argument[64];
};

static CK_FUNCTION_LIST_PTR real;
static CK_FUNCTION_LIST list;
static struct timespec loaded;

static void count(const char *function) {
  const char *path = getenv("DOUBLE_LOG");
  if (path == NULL) return;
  char line[64];
  int length = snprintf(line, sizeof line, "%s\n", function);
  int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (fd < 0) return;
  if (write(fd, line, length) != length) abort();
  close(fd);
}

/* Whether the control file speaks of this function; the rule is then this call's. */
static int commanded(const char *function, struct rule *rule) {
  count(function);
  const char *path = getenv("DOUBLE_CONTROL");
  FILE *file = path == NULL ? NULL : fopen(path, "r");
  if (file == NULL) return 0;
  char once[8] = "";
  memset(rule, 0, sizeof *rule);
  int words = fscanf(file, "%31s %15s %63s %7s", rule->function, rule->action, rule->argument, once);
  fclose(file);
  if (words < 2 || strcmp(rule->function, function) != 0) return 0;
  int only = strcmp(once, "once") == 0 || strcmp(rule->argument, "once") == 0;
  return !only || unlink(path) == 0;
}

/* What any function can do. Returns 1 when `*code` is the answer. */
static int obey(const struct rule *rule, CK_SESSION_HANDLE session, CK_RV *code) {
  if (strcmp(rule->action, "return") == 0) {
    *code = strtoul(rule->argument, NULL, 0);
    return 1;
  }
  if (strcmp(rule->action, "sleep") == 0) sleep(atoi(rule->argument));
  if (strcmp(rule->action, "crash") == 0) raise(SIGSEGV);
  if (strcmp(rule->action, "drop") == 0) {
    CK_SESSION_INFO info;
    if (real->C_GetSessionInfo(session, &info) == CKR_OK) real->C_CloseAllSessions(info.slotID);
  }
  return 0;
}

static CK_RV simple(const char *function, CK_SESSION_HANDLE session) {
  struct rule rule;
  CK_RV code;
  return commanded(function, &rule) && obey(&rule, session, &code) ? code : CKR_OK;
}

static int sessions = 0;

static CK_RV finalize(CK_VOID_PTR reserved) {
  CK_RV code = simple("C_Finalize", 0);
  return code != CKR_OK ? code : real->C_Finalize(reserved);
}

static CK_RV initialize(CK_VOID_PTR arguments) {
  CK_RV code = simple("C_Initialize", 0);
  return code != CKR_OK ? code : real->C_Initialize(arguments);
}

static CK_RV open_session(CK_SLOT_ID slot, CK_FLAGS flags, CK_VOID_PTR app, CK_NOTIFY notify,
                          CK_SESSION_HANDLE_PTR session) {
  struct rule rule;
  CK_RV code;
  int ordered = commanded("C_OpenSession", &rule);
  if (ordered && obey(&rule, 0, &code)) return code;
  int open = __sync_add_and_fetch(&sessions, 1);
  if (ordered && strcmp(rule.action, "limit") == 0 && open > atoi(rule.argument)) code = CKR_SESSION_COUNT;
  else code = real->C_OpenSession(slot, flags, app, notify, session);
  if (code != CKR_OK) __sync_sub_and_fetch(&sessions, 1);
  return code;
}

static CK_RV close_session(CK_SESSION_HANDLE session) {
  CK_RV code = real->C_CloseSession(session);
  if (code == CKR_OK) __sync_sub_and_fetch(&sessions, 1);
  return code;
}

static CK_RV generate_key_pair(CK_SESSION_HANDLE session, CK_MECHANISM_PTR mechanism, CK_ATTRIBUTE_PTR public,
                               CK_ULONG publics, CK_ATTRIBUTE_PTR private, CK_ULONG privates,
                               CK_OBJECT_HANDLE_PTR public_key, CK_OBJECT_HANDLE_PTR private_key) {
  struct rule rule;
  CK_RV code;
  int ordered = commanded("C_GenerateKeyPair", &rule);
  if (ordered) {
    if (obey(&rule, session, &code)) return code;
    for (CK_ULONG at = 0; at < privates; at++)
      if (strcmp(rule.action, "uses") == 0 && private[at].type == CKA_DECRYPT) return strtoul(rule.argument, NULL, 0);
  }
  code = real->C_GenerateKeyPair(session, mechanism, public, publics, private, privates, public_key, private_key);
  if (ordered && strcmp(rule.action, "die") == 0) raise(SIGKILL);
  return ordered && strcmp(rule.action, "after") == 0 ? strtoul(rule.argument, NULL, 0) : code;
}

static CK_RV get_mechanism_info(CK_SLOT_ID slot, CK_MECHANISM_TYPE type, CK_MECHANISM_INFO_PTR info) {
  struct rule rule;
  CK_RV code;
  if (commanded("C_GetMechanismInfo", &rule)) {
    if (obey(&rule, 0, &code)) return code;
    if (strcmp(rule.action, "without") == 0 && strtoul(rule.argument, NULL, 0) == type) return CKR_MECHANISM_INVALID;
  }
  return real->C_GetMechanismInfo(slot, type, info);
}

static CK_RV login(CK_SESSION_HANDLE session, CK_USER_TYPE user, CK_UTF8CHAR_PTR pin, CK_ULONG length) {
  CK_RV code = simple("C_Login", session);
  return code != CKR_OK ? code : real->C_Login(session, user, pin, length);
}

static __thread int hidden;

static int is_older_than_command(void) {
  struct stat control;
  if (stat(getenv("DOUBLE_CONTROL"), &control) != 0) return 0;
  return loaded.tv_sec < control.st_mtim.tv_sec ||
         (loaded.tv_sec == control.st_mtim.tv_sec && loaded.tv_nsec < control.st_mtim.tv_nsec);
}

static CK_RV find_objects_init(CK_SESSION_HANDLE session, CK_ATTRIBUTE_PTR wanted, CK_ULONG count_of) {
  struct rule rule;
  CK_RV code;
  hidden = 0;
  if (commanded("C_FindObjectsInit", &rule)) {
    if (obey(&rule, session, &code)) return code;
    for (CK_ULONG at = 0; strcmp(rule.action, "stale") == 0 && at < count_of; at++)
      if (wanted[at].type == CKA_LABEL && wanted[at].ulValueLen == strlen(rule.argument) &&
          memcmp(wanted[at].pValue, rule.argument, wanted[at].ulValueLen) == 0)
        hidden = is_older_than_command();
  }
  return real->C_FindObjectsInit(session, wanted, count_of);
}

static CK_RV find_objects(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE_PTR found, CK_ULONG most, CK_ULONG_PTR number) {
  CK_RV code = simple("C_FindObjects", session);
  if (code != CKR_OK) return code;
  code = real->C_FindObjects(session, found, most, number);
  if (code == CKR_OK && hidden) *number = 0;
  return code;
}

static CK_OBJECT_HANDLE key_with(CK_SESSION_HANDLE session, char *label) {
  CK_OBJECT_CLASS class = CKO_PRIVATE_KEY;
  CK_ATTRIBUTE wanted[] = {{CKA_CLASS, &class, sizeof class}, {CKA_LABEL, label, strlen(label)}};
  CK_OBJECT_HANDLE found = 0;
  CK_ULONG number = 0;
  real->C_FindObjectsInit(session, wanted, 2);
  real->C_FindObjects(session, &found, 1, &number);
  real->C_FindObjectsFinal(session);
  return found;
}

static CK_RV sign_init(CK_SESSION_HANDLE session, CK_MECHANISM_PTR mechanism, CK_OBJECT_HANDLE key) {
  struct rule rule;
  CK_RV code;
  if (commanded("C_GetMechanismInfo", &rule) && strcmp(rule.action, "without") == 0 &&
      strtoul(rule.argument, NULL, 0) == mechanism->mechanism)
    return CKR_MECHANISM_INVALID;
  if (commanded("C_SignInit", &rule)) {
    if (obey(&rule, session, &code)) return code;
    if (strcmp(rule.action, "other") == 0) return real->C_SignInit(session, mechanism, key_with(session, rule.argument));
  }
  return real->C_SignInit(session, mechanism, key);
}

static CK_RV sign(CK_SESSION_HANDLE session, CK_BYTE_PTR data, CK_ULONG length, CK_BYTE_PTR signature,
                  CK_ULONG_PTR signature_length) {
  struct rule rule;
  CK_RV code;
  int ordered = commanded("C_Sign", &rule);
  if (ordered && obey(&rule, session, &code)) return code;
  code = real->C_Sign(session, data, length, signature, signature_length);
  if (ordered && code == CKR_OK && strcmp(rule.action, "flip") == 0) signature[*signature_length / 2] ^= 1;
  return code;
}

CK_RV C_GetFunctionList(CK_FUNCTION_LIST_PTR_PTR functions) {
  if (real == NULL) {
    clock_gettime(CLOCK_REALTIME, &loaded);
    const char *path = getenv("DOUBLE_LIBRARY");
    void *library = dlopen(path == NULL ? "" : path, RTLD_NOW | RTLD_LOCAL);
    CK_C_GetFunctionList get = library == NULL ? NULL : (CK_C_GetFunctionList)dlsym(library, "C_GetFunctionList");
    if (get == NULL || get(&real) != CKR_OK) return CKR_GENERAL_ERROR;
    list = *real;
    list.C_GetFunctionList = C_GetFunctionList;
    list.C_Initialize = initialize;
    list.C_Finalize = finalize;
    list.C_OpenSession = open_session;
    list.C_CloseSession = close_session;
    list.C_GenerateKeyPair = generate_key_pair;
    list.C_GetMechanismInfo = get_mechanism_info;
    list.C_Login = login;
    list.C_FindObjectsInit = find_objects_init;
    list.C_FindObjects = find_objects;
    list.C_SignInit = sign_init;
    list.C_Sign = sign;
  }
  *functions = &list;
  return CKR_OK;
}
