/* SPDX-License-Identifier: MIT */
var save = document.getElementById("save");
save.hidden = false;
save.addEventListener("click", function () {
  var data = document.getElementById("data").textContent;
  var link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([data], { type: "application/json" }));
  link.download = save.dataset.file;
  link.click();
  setTimeout(function () { URL.revokeObjectURL(link.href); }, 1000);
});
