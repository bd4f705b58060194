/* SPDX-License-Identifier: MIT */
#include "folder.h"

#include "base/error.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static int make_folders(const char *folder, stretto_error *err) {
    char path[512];
    size_t n = strlen(folder);
    if (n == 0) return st_fail(err, STRETTO_E_USAGE, "the folder for the reports has no name");
    if (n >= sizeof path) return st_fail(err, STRETTO_E_USAGE, "the folder's path is too long (%zu bytes)", n);
    memcpy(path, folder, n + 1);
    for (size_t i = 1; i <= n; i++) {
        if (path[i] != '/' && path[i] != 0) continue;
        char kept = path[i];
        path[i] = 0;
        if (mkdir(path, 0777) != 0 && errno != EEXIST) {
            return st_fail(err, STRETTO_E_IO, "cannot make folder %.300s: %s", path, strerror(errno));
        }
        path[i] = kept;
    }
    return STRETTO_OK;
}

int folder_open(folder_files *files, const char *folder, const char *const *names, stretto_error *err) {
    *files = (folder_files){0};
    int rc = make_folders(folder, err);
    for (unsigned i = 0; !rc && names[i] && i < FOLDER_FILES_MAX; i++) {
        int n = snprintf(files->path[i], sizeof files->path[i], "%s/%s", folder, names[i]);
        if (n < 0 || (size_t)n >= sizeof files->path[i]) {
            rc = st_fail(err, STRETTO_E_USAGE, "the folder's path is too long for %s in it", names[i]);
        } else if (!(files->file[i] = fopen(files->path[i], "we"))) {
            rc = st_fail(err, STRETTO_E_IO, "cannot write %.300s: %s", files->path[i], strerror(errno));
        } else {
            files->n++;
        }
    }
    if (rc) folder_close(files, NULL);
    return rc;
}

int folder_close(folder_files *files, stretto_error *err) {
    int rc = STRETTO_OK;
    for (unsigned i = 0; i < files->n; i++) {
        errno = 0;
        bool bad = ferror(files->file[i]) != 0;
        if (fclose(files->file[i]) != 0) bad = true;
        if (bad && !rc) rc = st_fail(err, STRETTO_E_IO, "cannot write %.300s: %s", files->path[i], strerror(errno ? errno : EIO));
    }
    files->n = 0;
    return rc;
}
