location.replace(document.getElementById('next').href)
