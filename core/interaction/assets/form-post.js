HTMLFormElement.prototype.submit.call(document.getElementById('form-post'))
